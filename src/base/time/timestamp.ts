const microsPerSecond = 1_000_000;
const secondsPerDay = 86_400;
const daysOfMonths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const zero = 0x30;

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - zero;
  const ones = text.charCodeAt(at + 1) - zero;
  // Negated, so that NaN past the end of the text is refused as well.
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)) return 29;
  return daysOfMonths[month - 1] ?? 0;
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar, by eras of 400 years that begin in March. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function parseDays(text: string): number | undefined {
  const century = twoDigits(text, 0);
  const yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return undefined;
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return undefined;
  const year = century * 100 + yearOfCentury;
  return day > daysInMonth(year, month) ? undefined : daysSinceEpoch(year, month, day);
}

function parseOffsetSeconds(text: string, at: number): number | undefined {
  const code = text.charCodeAt(at);
  if (code === 0x5a || code === 0x7a) return text.length === at + 1 ? 0 : undefined;
  if ((code !== 0x2b && code !== 0x2d) || text.length !== at + 6) return undefined;
  const hours = twoDigits(text, at + 1);
  const minutes = twoDigits(text, at + 4);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || text.charCodeAt(at + 3) !== 0x3a) {
    return undefined;
  }
  const seconds = hours * 3600 + minutes * 60;
  return code === 0x2d ? -seconds : seconds;
}

/**
 * Unix microseconds of an RFC 3339 timestamp; undefined if invalid (contract: Read parameters). 1 to 9
 * fraction digits are cut to microseconds, downwards before 1970 too. Second 60 counts as the next second,
 * only at 23:59:60 UTC. Exact from 1685 to 2255.
 */
export function parseRfc3339Micros(text: string): number | undefined {
  const days = parseDays(text);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (days === undefined || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return undefined;
  }
  const separator = text.charCodeAt(10);
  if (separator !== 0x54 && separator !== 0x74) return undefined;
  if (text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a) return undefined;

  let at = 19;
  let micros = 0;
  if (text.charCodeAt(at) === 0x2e) {
    const first = ++at;
    let unit = 100_000;
    for (; at - first < 9; at++) {
      const digit = text.charCodeAt(at) - zero;
      if (!(digit >= 0 && digit <= 9)) break;
      if (at - first < 6) {
        micros += digit * unit;
        unit /= 10;
      }
    }
    if (at === first) return undefined;
  }
  const offset = parseOffsetSeconds(text, at);
  if (offset === undefined) return undefined;
  const seconds = days * secondsPerDay + hour * 3600 + minute * 60 + second - offset;
  if (second === 60 && seconds % secondsPerDay !== 0) return undefined;
  // Turns a negative zero into zero.
  return seconds * microsPerSecond + micros + 0;
}

/**
 * Like `parseRfc3339Micros`, but accepts a space for the `T` and an offset without colon: `2024-05-01
 * 10:11:12+0200`.
 */
export function parseEventTimeMicros(text: string): number | undefined {
  return parseRfc3339Micros(text) ?? parseRfc3339Micros(toRfc3339(text));
}

function toRfc3339(text: string): string {
  return text.replace(/^(\d{4}-\d\d-\d\d) /, '$1T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
}

/** ISO 8601 with six fraction digits and `Z`. @throws {RangeError} outside Date's range (±8.64e18). */
export function formatMicros(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = micros - millis * 1000;
  return `${new Date(millis).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** Undefined stays undefined. */
export function formatMicrosIfAny(micros: number | undefined): string | undefined {
  return micros === undefined ? undefined : formatMicros(micros);
}
