import { isIP } from 'node:net';
import { formatDurationMs, parseDurationMs } from '../base/durations.ts';
import { parseRate, type Rate } from '../base/rates.ts';
import { plainName } from '../base/secret-name.ts';
import { parseBytes } from '../base/sizes.ts';

/** A kind of value: what is allowed, in words that follow "allowed is", and the reader that decides it. */
export interface Kind<T> {
  readonly allowed: string;
  /** The value, or undefined when the text is not of this kind; wrapped because a value may itself be undefined. */
  parse(text: string): { readonly value: T } | undefined;
}

const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostName = new RegExp(`^(?=.{1,253}$)${label}(\\.${label})*$`);

/** A text that matches the pattern as a whole. */
export function pattern(expression: RegExp, allowed: string): Kind<string> {
  return { allowed, parse: (text) => (expression.test(text) ? { value: text } : undefined) };
}

/** A whole number in plain digits. */
export function integer(min: number, max: number): Kind<number> {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    parse(text) {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? { value } : undefined;
    },
  };
}

/** A size in bytes (see `parseBytes`). */
export function bytes(min: number, max: number): Kind<number> {
  return {
    allowed: `a size such as 33554432, 64 MiB or 8 GiB, from ${min} to ${max} bytes`,
    parse(text) {
      const value = parseBytes(text);
      return value !== undefined && value >= min && value <= max ? { value } : undefined;
    },
  };
}

/** A duration in milliseconds (see `parseDurationMs`). */
export function duration(minMs: number, maxMs: number): Kind<number> {
  return {
    allowed: `a duration such as 500ms, 90s, 15m, 12h or 30d, from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`,
    parse(text) {
      const value = parseDurationMs(text);
      return value !== undefined && value >= minMs && value <= maxMs ? { value } : undefined;
    },
  };
}

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return {
    allowed: words.join(', '),
    parse(text) {
      const value = words.find((word) => word === text);
      return value === undefined ? undefined : { value };
    },
  };
}

/** A kind that may also be switched off; `off` reads as undefined. */
export function orOff<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    allowed: `${kind.allowed}, or off`,
    parse: (text) => (text === 'off' ? { value: undefined } : kind.parse(text)),
  };
}

/** The value of a kind, carried on into another form. */
export function mapped<T, U>(kind: Kind<T>, change: (value: T) => U): Kind<U> {
  return {
    allowed: kind.allowed,
    parse(text) {
      const parsed = kind.parse(text);
      return parsed === undefined ? undefined : { value: change(parsed.value) };
    },
  };
}

/** Requests in a window (see `parseRate`). */
export const rate: Kind<Rate> = {
  allowed: 'requests/window such as 300/15s (a window of at most 1d)',
  parse(text) {
    const value = parseRate(text);
    return value === undefined ? undefined : { value };
  },
};

/** An address to listen on. */
export const host: Kind<string> = {
  allowed: 'an IPv4 or IPv6 address or a host name',
  parse: (text) => (isIP(text) !== 0 || hostName.test(text) ? { value: text } : undefined),
};

/** A domain below which every organization has its host; in lower case. */
export const domain: Kind<string> = {
  allowed: 'a domain name without scheme, port or path, such as audit.example.com',
  parse: (text) => (isIP(text) === 0 && hostName.test(text) ? { value: text.toLowerCase() } : undefined),
};

/** An engine's address. Credentials have variables of their own, and settings in the query would go unseen. */
export const httpUrl: Kind<string> = {
  allowed:
    'an http:// or https:// URL without user, password, query or fragment (CLICKHOUSE_USER and CLICKHOUSE_PASSWORD hold the credentials)',
  parse(text) {
    if (!URL.canParse(text) || /\s/.test(text)) return undefined;
    const url = new URL(text);
    const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
    return plain && (url.protocol === 'http:' || url.protocol === 'https:') ? { value: text } : undefined;
  },
};

/** Names of secrets separated by commas, as `plainName` has them, without repeats; a `!` before one stays. */
export function secretNames(countMax: number, charactersMax: number): Kind<readonly string[]> {
  return {
    allowed: `up to ${countMax} names separated by commas, each of at most ${charactersMax} characters, none of spaces, "_", "-" and "." alone; with a leading ! a name is taken out`,
    parse(text) {
      const given = text.split(',').map((name) => name.trim());
      const names = given.map((name) =>
        name.startsWith('!') ? `!${plainName(name.slice(1))}` : plainName(name),
      );
      const areNames = names.every((name) => name !== '' && name !== '!');
      const areShort = given.every((name) => name.length <= charactersMax);
      return areNames && areShort && names.length <= countMax ? { value: [...new Set(names)] } : undefined;
    },
  };
}
