import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isIssuer, isLoopback } from '../base/network/issuer.ts';
import { formatDurationMs, parseBytes, parseDurationMs } from '../base/time/units.ts';
import { parseRate, type Rate } from '../base/time/rates.ts';
import { plainName } from '../base/events/secret-name.ts';

/** `allowed` follows "allowed is". */
export interface Kind<T> {
  readonly allowed: string;
  /** The fault of a list, without its text; may be empty. */
  wrongIn?(text: string): string | undefined;
  /** Wrapped, because a value may itself be undefined. */
  parse(text: string): { readonly value: T } | undefined;
}

const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostName = new RegExp(`^(?=.{1,253}$)${label}(\\.${label})*$`);

/** `read` gives undefined for an invalid text. */
export function kind<T>(allowed: string, read: (text: string) => T | undefined): Kind<T> {
  return {
    allowed,
    parse(text) {
      const value = read(text);
      return value === undefined ? undefined : { value };
    },
  };
}

export function pattern(expression: RegExp, allowed: string): Kind<string> {
  return kind(allowed, (text) => (expression.test(text) ? text : undefined));
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

export function integer(min: number, max: number): Kind<number> {
  return kind(`a whole number from ${min} to ${max}`, (text) =>
    within(/^\d{1,16}$/.test(text) ? Number(text) : undefined, min, max),
  );
}

export function bytes(min: number, max: number): Kind<number> {
  const allowed = `a size such as 33554432, 64 MiB or 8 GiB, from ${min} to ${max} bytes`;
  return kind(allowed, (text) => within(parseBytes(text), min, max));
}

export function duration(minMs: number, maxMs: number): Kind<number> {
  const range = `from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`;
  return kind(`a duration such as 500ms, 90s, 15m, 12h or 30d, ${range}`, (text) =>
    within(parseDurationMs(text), minMs, maxMs),
  );
}

export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return kind(words.join(', '), (text) => words.find((word) => word === text));
}

/** `off` reads as undefined. */
export function orOff<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    allowed: `${kind.allowed}, or off`,
    parse: (text) => (text === 'off' ? { value: undefined } : kind.parse(text)),
  };
}

export function mapped<T, U>(kind: Kind<T>, change: (value: T) => U): Kind<U> {
  return {
    allowed: kind.allowed,
    parse(text) {
      const parsed = kind.parse(text);
      return parsed === undefined ? undefined : { value: change(parsed.value) };
    },
  };
}

export const rate: Kind<Rate> = kind('requests/window such as 300/15s (a window of at most 1d)', parseRate);

export const host: Kind<string> = kind('an IPv4 or IPv6 address or a host name', (text) =>
  isIP(text) !== 0 || hostName.test(text) ? text : undefined,
);

export const domain: Kind<string> = kind(
  'a domain name without scheme, port or path, such as audit.example.com',
  (text) => (isIP(text) === 0 && hostName.test(text) ? text.toLowerCase() : undefined),
);

export const httpUrl = kind('an http:// or https:// URL without user, password, query or fragment', (text) =>
  isPlainUrl(text) ? text : undefined,
);

/** Credentials have their own variables; settings in a query would be ignored. */
export function httpUrls(max: number): Kind<readonly string[]> {
  const allowed = `an http:// or https:// URL without user, password, query or fragment (CLICKHOUSE_USER and CLICKHOUSE_PASSWORD hold the credentials), or up to ${max} different ones of the same scheme, separated by commas`;
  const words = (text: string): string | undefined => {
    const urls = text.split(',').map((url) => url.trim());
    const bad = urls.findIndex((url) => !isPlainUrl(url));
    if (bad !== -1) return urls.length === 1 ? '' : `number ${bad + 1} of ${urls.length} is none`;
    if (urls.length > max) return `there are ${urls.length}`;
    if (new Set(urls.map((url) => new URL(url).href)).size < urls.length) return 'one is there twice';
    if (new Set(urls.map((url) => new URL(url).protocol)).size > 1) return 'their schemes differ';
    return undefined;
  };
  return {
    allowed,
    wrongIn: words,
    parse: (text) =>
      words(text) === undefined ? { value: text.split(',').map((url) => url.trim()) } : undefined,
  };
}

/** Client id and secret stand as user and password, percent-encoded. */
export const oidcProvider = kind(
  'the address of an issuer with client id and secret, such as https://CLIENT-ID:SECRET@idp.example/realms/a (http:// on this machine alone), without query, fragment and .well-known',
  (text) => {
    const [, scheme, user = '', secret, rest] =
      /^(https?:\/\/)([^:@/]+)(?::([^@/]*))?@(.*)$/.exec(text) ?? [];
    const issuer = `${scheme}${rest}`;
    if (!isIssuer(issuer)) return undefined;
    try {
      const clientSecret = secret === undefined ? undefined : decodeURIComponent(secret);
      return Object.freeze({ issuer, clientId: decodeURIComponent(user), clientSecret });
    } catch {
      // Not percent-encoded.
      return undefined;
    }
  },
);

/** Without a slash at the end. */
export const publicUrl: Kind<string> = kind(
  'an https:// URL (http:// on this machine alone) without user, password, path, query or fragment',
  (text) => {
    if (!isPlainUrl(text)) return undefined;
    const url = new URL(text);
    return url.pathname === '/' && (url.protocol === 'https:' || isLoopback(url)) ? url.origin : undefined;
  },
);

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text) || /\s/.test(text)) return false;
  const { username, password, search, hash, protocol } = new URL(text);
  const isPlain = [username, password, search, hash].every((part) => part === '');
  return isPlain && (protocol === 'http:' || protocol === 'https:');
}
export const redisUrl: Kind<string> = kind(
  'a redis:// or rediss:// URL such as redis://:password@host:6379/0, without query or fragment',
  (text) => {
    if (!URL.canParse(text) || /\s/.test(text)) return undefined;
    const { protocol, hostname, pathname, search, hash } = new URL(text);
    const isRedis = protocol === 'redis:' || protocol === 'rediss:';
    const isPlain = hostname !== '' && search === '' && hash === '' && /^(\/\d{0,5})?$/.test(pathname);
    return isRedis && isPlain ? text : undefined;
  },
);

/** As `plainName` has them, without repeats; a leading `!` stays. */
export function secretNames(countMax: number, charactersMax: number): Kind<readonly string[]> {
  const allowed = `up to ${countMax} names separated by commas, each of at most ${charactersMax} characters, none of spaces, "_", "-" and "." alone; with a leading ! a name is taken out`;
  return kind(allowed, (text) => {
    const given = text.split(',').map((name) => name.trim());
    const names = given.map((name) => name.replace(/^(!?)(.*)$/s, (_, not, rest) => not + plainName(rest)));
    const areNames = names.every((name) => name !== '' && name !== '!');
    const areShort = given.every((name) => name.length <= charactersMax);
    return areNames && areShort && names.length <= countMax ? [...new Set(names)] : undefined;
  });
}

function pemFile(what: string, isGood: (text: string) => unknown): Kind<string> {
  return kind(`the path of a file that this user can read, with ${what} in PEM`, (path) => {
    try {
      const text = readFileSync(path, 'utf8');
      isGood(text);
      return text;
    } catch {
      return undefined;
    }
  });
}

export const certificateFile = pemFile('one or more certificates', (text) => new X509Certificate(text));
export const certificateAndKeyFile = pemFile(
  'a certificate, its chain and its private key without a passphrase',
  (text) => [new X509Certificate(text), createPrivateKey(text)],
);

export function watched(file: Kind<string>): Kind<{ readonly path: string; readonly text: string }> {
  return {
    allowed: file.allowed,
    parse(path) {
      const read = file.parse(path);
      return read && { value: { path: resolve(path), text: read.value } };
    },
  };
}
