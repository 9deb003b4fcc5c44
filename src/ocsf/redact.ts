import { fromByteText } from './byte-text.ts';
import { type Cursor, stringValue } from './json-cursor.ts';

/** Whether the member whose name the cursor holds must lose its value. */
export type KeyTest = (c: Cursor) => boolean;

/** What stands in for the value, as JSON. */
export const redactedText = '"[redacted]"';

/** Names that always lose their values (contract: Ingest); configuration can only add to them. */
export const alwaysRedacted = ['password', 'mfa_secret', 'otp', 'secret', 'token', 'authorization'] as const;

const lengthBits = 6;
const lengthsKnown = 1 << lengthBits;
const upperA = 0x41;
const upperZ = 0x5a;

/**
 * A test for names that are one of `keys` in any case, however they are escaped (contract: Ingest).
 *
 * Nearly every name is settled by its length and first letter alone, in one table; only the rest, and those with
 * escapes or characters beyond ASCII, are lower-cased and looked up.
 */
export function createKeyTest(keys: readonly string[]): KeyTest {
  const names = new Set(keys.map((key) => key.toLowerCase()));
  const candidates = new Uint8Array(128 * lengthsKnown);
  for (const name of names) {
    const first = name.charCodeAt(0);
    if (first < 128 && name.length < lengthsKnown) candidates[(first << lengthBits) | name.length] = 1;
  }
  return (c) => {
    const { keyStart, keyEnd } = c;
    const length = keyEnd - keyStart;
    if (!c.keyEscaped && !c.keyWide && length < lengthsKnown) {
      const code = c.bytes[keyStart] as number;
      const first = code >= upperA && code <= upperZ ? code | 0x20 : code;
      if (candidates[(first << lengthBits) | length] === 0) return false;
    }
    return names.has(fromByteText(stringValue(c, keyStart, keyEnd, c.keyEscaped)).toLowerCase());
  };
}
