/**
 * A string whose characters are UTF-8 bytes. JSON's structure and our additions are ASCII, so nothing is decoded and encoded
 * again, lengths are bytes, and strings stay one-byte. Only letter case and escapes are decoded.
 */

/** The same bytes as text (to slice strings) and as numbers (several times faster to read). */
export interface Window {
  readonly text: string;
  readonly bytes: Uint8Array;
}

export const toWindow = (text: string): Window => byteWindow(Buffer.from(text, 'utf8'));

export const byteWindow = (bytes: Buffer): Window => ({ text: bytes.toString('latin1'), bytes });

// oxlint-disable-next-line no-control-regex -- the range of ASCII
const beyondAscii = /[^\u0000-\u007f]/;

export function toByteText(text: string): string {
  return beyondAscii.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

export function fromByteText(bytes: string): string {
  return beyondAscii.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
