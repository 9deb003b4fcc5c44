const million = 1_000_000;
const thousand = 1000;

/** RFC 3339 in UTC with six digits, as request parameters need it. */
export function toRfc3339(micros: number): string {
  const seconds = new Date(Math.floor(micros / million) * thousand).toISOString().slice(0, 19);
  return `${seconds}.${String(((micros % million) + million) % million).padStart(6, '0')}Z`;
}

/** Microseconds of an RFC 3339 time; undefined if invalid. */
export function fromRfc3339(text: string): number | undefined {
  const parsed = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const [, seconds, fraction = '', offset] = parsed ?? [];
  const ms = Date.parse(`${seconds}${offset}`);
  return Number.isNaN(ms) ? undefined : ms * thousand + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Server clock minus browser clock, in milliseconds. The server's clock decides the meaning of a range. */
let ahead = 0;

/** `time` is the server's answer (RFC 3339), so its clock shows at least this time. */
export function setServerTime(time: string, askedAtMs: number): void {
  ahead = Date.parse(time) - askedAtMs;
}

/** Unix milliseconds by the server's clock. */
export function serverNow(): number {
  return Date.now() + ahead;
}
