import { plainName } from '../base/events/secret-name.ts';
import { fromByteText } from './byte-text.ts';
import { type Cursor, stringValue } from './json-cursor.ts';

/** Redacted names (contract: Ingest), as `plainName` writes them; configuration adds and removes some. */
export const alwaysRedacted = [
  'password',
  'passwd',
  'pwd',
  'passphrase',
  'oldpassword',
  'newpassword',
  'currentpassword',
  'userpassword',
  'mfasecret',
  'otp',
  'totp',
  'secret',
  'clientsecret',
  'secretkey',
  'secretaccesskey',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'sessiontoken',
  'authtoken',
  'apikey',
  'xapikey',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'privatekey',
  'credentials',
  'recoverycodes',
] as const;

/** Members of a pair: `{"name": "Authorization", "value": …}`. */
export const pairNames: ReadonlySet<string> = new Set(['name', 'key']);
export const pairValue = 'value';

function chooseNames(keys: readonly string[]): Set<string> {
  const names = new Set(keys.filter((key) => !key.startsWith('!')).map(plainName));
  for (const key of keys) if (key.startsWith('!')) names.delete(plainName(key.slice(1)));
  return names;
}

const separators = ' _.-';
const ascii = 128;
const lengthMax = 255;

/**
 * By first and last character (ASCII): the least length of such a name in `names`, otherwise 0. This decides nearly every name.
 */
function indexNames(names: Iterable<string>): Uint8Array {
  const candidates = new Uint8Array(ascii * ascii);
  const mark = (first: string, last: string, length: number): void => {
    const index = first.charCodeAt(0) * ascii + last.charCodeAt(0);
    if (first >= '\u0080' || last >= '\u0080') return;
    candidates[index] = Math.min(candidates[index] || lengthMax, length);
  };
  for (const name of names) {
    const [first = '', last = ''] = [name.at(0), name.at(-1)];
    for (const one of [first, first.toUpperCase()])
      for (const other of [last, last.toUpperCase()]) mark(one, other, name.length);
  }
  for (const separator of separators) {
    for (let code = 0; code < ascii; code++) {
      mark(separator, String.fromCharCode(code), 1);
      mark(String.fromCharCode(code), separator, 1);
    }
  }
  return candidates;
}

function isCandidate(
  { bytes, keyStart, keyEnd, keyEscaped, keyWide }: Cursor,
  candidates: Uint8Array,
): boolean {
  if (keyEscaped || keyWide) return true;
  const length = candidates[(bytes[keyStart] as number) * ascii + (bytes[keyEnd - 1] as number)] as number;
  return length > 0 && keyEnd - keyStart >= length;
}

function plainKey(c: Cursor): string {
  return plainName(fromByteText(stringValue(c, c.keyStart, c.keyEnd, c.keyEscaped)));
}

/** In any spelling and escaping (contract: Ingest). */
export class SecretNames {
  readonly #names: ReadonlySet<string>;
  readonly #suspects: Uint8Array;
  readonly #roles: Uint8Array;

  constructor(keys: readonly string[]) {
    this.#names = chooseNames(keys);
    this.#suspects = indexNames([...this.#names, pairValue]);
    this.#roles = indexNames([...this.#names, pairValue, ...pairNames]);
  }

  has(plain: string): boolean {
    return this.#names.has(plain);
  }

  isSuspect(c: Cursor): boolean {
    if (!isCandidate(c, this.#suspects)) return false;
    const plain = plainKey(c);
    return this.#names.has(plain) || plain === pairValue;
  }

  /** The name as `plainName` writes it; empty if it is neither a secret nor of a pair. */
  roleOf(c: Cursor): string {
    return isCandidate(c, this.#roles) ? plainKey(c) : '';
  }
}
