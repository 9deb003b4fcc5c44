import { type Cursor, textSlice } from './json-cursor.ts';

/** No secret with a known shape has a shorter first word. */
const secretRunBytesMin = 19;
/** No private key is shorter. */
const secretPemBytesMin = 64;

export const redactedText = '[redacted]';

/** Values that are secrets by their shape (contract: Ingest), never a part of a longer word. */
const shapes = new RegExp(
  [
    // JSON Web Tokens, signed or encrypted.
    String.raw`(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*){2,4}`,
    String.raw`(?<![\w-])A[KS]IA[0-9A-Z]{16}(?![\w-])`,
    String.raw`(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})(?![\w-])`,
    String.raw`(?<![\w-])xox[a-z]-[A-Za-z0-9-]{14,}(?!\w)`,
    String.raw`(?<![\w-])ak_[0-9a-z]{16}_[\w-]{43}(?![\w-])`,
    // Private keys in PEM; a truncated one extends to the end.
    String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)`,
  ].join('|'),
  'g',
);

/** Replaces each secret by `[redacted]`; works on bytes or characters, because the patterns are ASCII. */
export function withoutSecrets(text: string): string {
  return text.replace(shapes, (match) => (isNoToken(match) ? match : redactedText));
}

function isNoToken(match: string): boolean {
  if (!match.startsWith('eyJ')) return false;
  const head = match.slice(0, match.indexOf('.'));
  return !/"alg"\s*:/.test(Buffer.from(head, 'base64url').toString());
}

const inToken = Uint8Array.from({ length: 256 }, (_, code) =>
  /[\w-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** In an escaped string a token may begin after an escape. */
const suspectWhereEscaped =
  /\\u00(?:2d|3\d|[46][1-9a-f]|[57][\da]|5f)|eyJ|A[KS]IA|gh[pousr]_|github_pat_|xox|ak_|-----BEGIN/i;

/**
 * Whether the string token [start, end), quotes included, may contain a secret: almost always exact, after reading a
 * fraction of its bytes. Every secret is long, and begins with known letters:
 *
 *     report of 2024-05-06 uploaded by ghp_16C7e42F292c6912E7…
 *                   ↑ no token character among the last sixteen: skip sixteen
 *                                               ↑ sixteen of them: check the beginning of the word
 */
export function mayHoldSecret(c: Cursor, start: number, end: number): boolean {
  const { bytes } = c;
  const bytesMin = secretRunBytesMin;
  if (end - start < bytesMin) return false;
  if (c.escaped) return suspectWhereEscaped.test(textSlice(c, start, end));
  if (end - start >= secretPemBytesMin && textSlice(c, start, end).includes('-----BEGIN ')) return true;
  let from = start + 1;
  for (let at = from + bytesMin - 1; at < end; at = from + bytesMin - 1) {
    let back = at;
    while (back >= from && inToken[bytes[back] as number] === 1) back--;
    if (back < from) {
      if (beginsSecret(bytes, from)) return true;
      // No token contains the closing quote.
      while (inToken[bytes[at] as number] === 1) at++;
      from = at + 1;
    } else from = back + 1;
  }
  return false;
}

function beginsSecret(bytes: Uint8Array, at: number): boolean {
  const second = bytes[at + 1];
  const third = bytes[at + 2];
  switch (bytes[at] as number) {
    case 0x65: // eyJ
      return second === 0x79 && third === 0x4a;
    case 0x41: // AKIA, ASIA
      return (second === 0x4b || second === 0x53) && third === 0x49;
    case 0x67: // ghp_, github_pat_
      return (second === 0x68 && bytes[at + 3] === 0x5f) || (second === 0x69 && third === 0x74);
    case 0x78: // xoxb-
      return second === 0x6f && third === 0x78;
    case 0x61: // ak_
      return second === 0x6b && third === 0x5f;
    default:
      return false;
  }
}
