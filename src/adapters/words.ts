const secondsBelow = 1e11;
const millisBelow = 1e14;
const microsBelow = 1e17;

/**
 * Forms of Python, databases and services that RFC 3339 does not allow: a space, a comma, nine digits, no
 * offset or one without a colon.
 */
const otherTime =
  /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|GMT|([+-]\d\d):?(\d\d))?$/;

/**
 * Unix microseconds of a number of seconds, milliseconds, microseconds or nanoseconds, distinguished by size
 * (as seconds it would be beyond the year 5000, and so on). Digits in quotes count as a number; a time with a
 * fraction and no offset is UTC; other text is left as it is: RFC 3339.
 */
export function micros(value: unknown): number | string | undefined {
  if (typeof value === 'object' && value !== null) return microsOfParts(value);
  if (typeof value === 'string') {
    if (value === '') return undefined;
    // A double has too few digits for nanoseconds.
    if (/^\d{18,20}$/.test(value)) return Number(value.slice(0, -3));
    if (!/^\d+(\.\d+)?$/.test(value)) return rfc3339(value);
  }
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number') return undefined;
  if (number < secondsBelow) return Math.round(number * 1e6);
  if (number < millisBelow) return Math.round(number * 1000);
  return number < microsBelow ? Math.round(number) : Math.floor(number / 1000);
}

function rfc3339(time: string): string {
  const [, day, clock, fraction, zone, hours, minutes] = otherTime.exec(time) ?? [];
  // Without fraction and offset it may be of any time zone.
  if (day === undefined || (fraction ?? zone) === undefined) return time;
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  return `${day}T${clock}${fraction === undefined ? '' : `.${fraction}`}${offset}`;
}

/** A time with separate seconds and nanoseconds: an instant of Log4j, a timestamp of Google. */
function microsOfParts(parts: object): number | undefined {
  const { epochSecond, nanoOfSecond, seconds = epochSecond, nanos = nanoOfSecond ?? 0 } = parts as Parts;
  const isNumber = typeof seconds === 'number' && typeof nanos === 'number';
  return isNumber ? seconds * 1e6 + Math.floor(nanos / 1000) : undefined;
}

type Parts = Readonly<Partial<Record<'seconds' | 'nanos' | 'epochSecond' | 'nanoOfSecond', unknown>>>;

const levelNames: Readonly<Record<string, string>> = {
  I: 'INFO',
  INFORMATION: 'INFO',
  INFORMATIONAL: 'INFO',
  NOTICE: 'INFO',
  DEFAULT: 'INFO',
  W: 'WARN',
  WARNING: 'WARN',
  E: 'ERROR',
  F: 'ERROR',
  ERR: 'ERROR',
  CRIT: 'ERROR',
  CRITICAL: 'ERROR',
  SEVERE: 'ERROR',
  FATAL: 'ERROR',
  PANIC: 'ERROR',
  DPANIC: 'ERROR',
  ALERT: 'ERROR',
  EMERG: 'ERROR',
  EMERGENCY: 'ERROR',
  VERBOSE: 'DEBUG',
  SILLY: 'TRACE',
};

/**
 * The level by name in any case, or by number: syslog up to 7; pino, bunyan and Python from 10; Monolog from
 * 100.
 */
export function level(value: unknown): string | undefined {
  if (typeof value === 'number') return levelOfNumber(value);
  if (typeof value !== 'string' || value === '') return undefined;
  if (/^\d{1,3}$/.test(value)) return levelOfNumber(Number(value));
  const name = value.toUpperCase();
  return levelNames[name] ?? name;
}

const syslogLevels = ['ERROR', 'ERROR', 'ERROR', 'ERROR', 'WARN', 'INFO', 'INFO', 'DEBUG'];

function levelOfNumber(value: number): string {
  if (value >= 100) return levelOfNumber(value / 10 + 10);
  if (value >= 50) return 'ERROR';
  if (value >= 40) return 'WARN';
  if (value >= 30) return 'INFO';
  return value >= 20 ? 'DEBUG' : (syslogLevels[value] ?? 'TRACE');
}
