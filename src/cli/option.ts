import { Option } from 'commander';
import { parseDurationMs } from '../base/durations.ts';
import { Problem } from '../base/problem.ts';

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
