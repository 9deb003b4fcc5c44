/**
 * Byte text: a string whose characters are the bytes of a text's UTF-8. On the way from a body to a block, events are
 * handled as byte text: JSON's structure and all that the service adds is ASCII, which looks alike in both, so nothing
 * is decoded only to be encoded again, lengths are bytes, and strings stay in the engine's compact one-byte form.
 * Only what depends on characters (letter case, escapes) is decoded, each value by itself.
 */

/** The same bytes twice: as text to cut strings from, and as numbers, which are read several times faster. */
export interface Window {
  readonly text: string;
  readonly bytes: Uint8Array;
}

export function toWindow(text: string): Window {
  return windowOf(Buffer.from(text, 'utf8'));
}

export function windowOf(bytes: Buffer): Window {
  return { text: bytes.toString('latin1'), bytes };
}

// oxlint-disable-next-line no-control-regex -- the range of ASCII
const beyondAscii = /[^\u0000-\u007f]/;

export function toByteText(text: string): string {
  return beyondAscii.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

export function fromByteText(bytes: string): string {
  return beyondAscii.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
