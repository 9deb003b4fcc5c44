import { plainName } from '../base/secret-name.ts';
import { fromByteText } from './byte-text.ts';
import { type Cursor, stringValue } from './json-cursor.ts';

/** Whether the member whose name the cursor holds must lose its value. */
export type KeyTest = (c: Cursor) => boolean;

/** What stands in for the value, as JSON. */
export const redactedText = '"[redacted]"';

/** Names that lose their values (contract: Ingest), as `plainName` has them; configuration adds and takes out. */
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

/** The names that `keys` come to, in any spelling; one with a leading `!` takes its name out. */
function namesOf(keys: readonly string[]): Set<string> {
  const names = new Set(keys.filter((key) => !key.startsWith('!')).map(plainName));
  for (const key of keys) if (key.startsWith('!')) names.delete(plainName(key.slice(1)));
  return names;
}

const separators = ' _.-';
const ascii = 128;

/**
 * For the first and the last character of a name, both ASCII: whether it may be one of `names`. Nearly every name is
 * settled by this alone. One that begins or ends with a separator may always be.
 */
function candidatesOf(names: ReadonlySet<string>): Uint8Array {
  const candidates = new Uint8Array(ascii * ascii);
  const mark = (first: string, last: string): void => {
    const index = first.charCodeAt(0) * ascii + last.charCodeAt(0);
    if (first < '\u0080' && last < '\u0080') candidates[index] = 1;
  };
  for (const name of names) {
    const [first = '', last = ''] = [name.at(0), name.at(-1)];
    for (const one of [first, first.toUpperCase()])
      for (const other of [last, last.toUpperCase()]) mark(one, other);
  }
  for (const separator of separators) {
    for (let code = 0; code < ascii; code++) {
      mark(separator, String.fromCharCode(code));
      mark(String.fromCharCode(code), separator);
    }
  }
  return candidates;
}

/**
 * A test for names that are one of `keys`, however they are spelled and escaped (contract: Ingest). A key with a
 * leading `!` takes its name out.
 */
export function createKeyTest(keys: readonly string[]): KeyTest {
  const names = namesOf(keys);
  const candidates = candidatesOf(names);
  return (c) => {
    const { bytes, keyStart, keyEnd } = c;
    if (!c.keyEscaped && !c.keyWide) {
      const first = bytes[keyStart] as number;
      if (candidates[first * ascii + (bytes[keyEnd - 1] as number)] === 0) return false;
    }
    return names.has(plainName(fromByteText(stringValue(c, keyStart, keyEnd, c.keyEscaped))));
  };
}
