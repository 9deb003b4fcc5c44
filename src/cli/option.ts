import { Option } from 'commander';
import { parseDurationMs } from '../base/durations.ts';
import { Problem } from '../base/problem.ts';
import { errorCode, fileErrorWords } from '../base/system-error.ts';
import { parseRfc3339Micros } from '../base/timestamp.ts';
import { baseUrl } from '../client/transport.ts';

/**
 * Parses the text of an option; `name` is for the error. `before` is the value so far of an option that may be
 * repeated. Throws Problem `malformed`.
 */
export type ReadOption<T> = (text: string, name: string, before: unknown) => T;

/** An option; where it is more than a text, with its parser and the text of its default. */
export type OptionRow = readonly [
  flags: string,
  meaning: string,
  read?: ReadOption<unknown>,
  fallback?: string,
];

/** An option that commander parses with the command line. */
export function option(...[flags, meaning, read, fallback]: OptionRow): Option {
  const made = new Option(flags, meaning);
  if (read === undefined) return made;
  const name = made.long ?? flags;
  made.argParser((text: string, before: unknown) => read(text, name, before));
  return fallback === undefined
    ? made
    : made.default(read(fallback, name, undefined), JSON.stringify(fallback));
}

export function wrong(name: string, allowed: string): Problem {
  return new Problem('malformed', `${name}: ${allowed}`);
}

/** A file that is named on the command line and cannot be read is wrong usage: nothing has been done yet. */
export function unreadable(name: string, path: string, error: unknown): Problem {
  return wrong(
    name,
    fileErrorWords(error) ?? `${path} cannot be read (${errorCode(error) ?? 'unknown reason'})`,
  );
}

const yearMs = 365 * 86_400_000;

/** Milliseconds. */
export function durationMs(minMs: number, maxMs = yearMs): ReadOption<number> {
  return (text, name) => {
    const ms = parseDurationMs(text) ?? -1;
    if (ms < minMs || ms > maxMs) throw wrong(name, 'a duration such as 500ms, 90s, 5m or 1h');
    return ms;
  };
}

export function integer(min: number, max: number): ReadOption<number> {
  return (text, name) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (value < min || value > max) throw wrong(name, `a whole number from ${min} to ${max}`);
    return value;
  };
}

export function oneOf<T extends string>(names: readonly T[]): ReadOption<T> {
  return (text, name) => {
    const found = names.find((one) => one === text);
    if (found === undefined) throw wrong(name, names.join(', '));
    return found;
  };
}

export function httpAddress(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrong(name, 'an http(s) address');
  if (url.username !== '' || url.password !== '')
    throw wrong(name, 'credentials do not belong into an address, which others can see; use a header');
  return url;
}

/** Address of a service; a slash is at its end. */
export function serviceAddress(text: string, name: string): string {
  return baseUrl(httpAddress(text, name).href).href;
}

/** A time as it was given; empty: none. Endpoints ignore what is no time, and would then hand out everything. */
function instant(text: string, name: string): string {
  if (text !== '' && parseRfc3339Micros(text) === undefined)
    throw wrong(name, 'an RFC 3339 time with an offset, such as 2026-05-04T00:00:00Z');
  return text;
}

/** A UUID as it was given; empty: none. */
function uuid(text: string, name: string): string {
  if (text !== '' && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) throw wrong(name, 'a UUID');
  return text;
}

/** Filters of the read endpoints (contract: Read), by the names that requests have for them. */
export const filterOptions = {
  startTime: ['--start-time <time>', 'events at or after this instant, RFC 3339 with an offset', instant],
  endTime: ['--end-time <time>', 'events at or before this instant', instant],
  actor: ['--actor <email>', "the actor's e-mail address"],
  userId: ['--user-id <id>', "the actor's id"],
  fileName: ['--file-name <name>', "the sender's file or the target's name"],
  fileHash: ['--file-hash <hash>', "the sender's hash or extra.fileHash"],
  flowId: ['--flow-id <uuid>', 'the events of one workflow', uuid],
} satisfies Readonly<Record<string, OptionRow>>;

export type Filters = Readonly<Partial<Record<keyof typeof filterOptions, string>>>;

/** Those of the options that are filters, without empty ones. */
export function filtersOf(options: Filters): Filters {
  const names = Object.keys(filterOptions) as (keyof Filters)[];
  const given = names.filter((name) => options[name] !== undefined && options[name] !== '');
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}
