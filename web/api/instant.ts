const million = 1_000_000;
const thousand = 1000;

/** RFC 3339 in UTC with all six digits, as parameters of requests. */
export function toRfc3339(micros: number): string {
  const seconds = new Date(Math.floor(micros / million) * thousand).toISOString().slice(0, 19);
  return `${seconds}.${String(((micros % million) + million) % million).padStart(6, '0')}Z`;
}

/** Microseconds of an RFC 3339 time; undefined for what is none. */
export function fromRfc3339(text: string): number | undefined {
  const parsed = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const [, seconds, fraction = '', offset] = parsed ?? [];
  const ms = Date.parse(`${seconds}${offset}`);
  return Number.isNaN(ms) ? undefined : ms * thousand + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** How far the server's clock is ahead of the browser's, in milliseconds: the server's decides what a range means. */
let ahead = 0;

/** `time` was its answer (RFC 3339) to a request of then: its clock is this late at least. */
export function setServerTime(time: string, askedAtMs: number): void {
  ahead = Date.parse(time) - askedAtMs;
}

/** Unix milliseconds by the server's clock. */
export function serverNow(): number {
  return Date.now() + ahead;
}
