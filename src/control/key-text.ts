import { hash, randomBytes } from 'node:crypto';

/**
 * The text of an API key (contract: Credentials):
 *
 *     ak_ 0123456789abcdef _ 43 characters base64url
 *         id, 80 random bits  secret, 256 random bits
 */
const idCharacters = 16;
const secretBytes = 32;
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const keyPattern = /^ak_([0-9a-z]{16})_[A-Za-z0-9_-]{43}$/;

/** Compared if a key is unknown, so that the work is the same. */
export const noDigest = '0'.repeat(64);

export function newKeyId(): string {
  // 256 is a multiple of 32, so every character is as likely as any other.
  return [...randomBytes(idCharacters)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

export function newKeyText(id: string): string {
  return `ak_${id}_${randomBytes(secretBytes).toString('base64url')}`;
}

/** Undefined if the text has not the form of a key. */
export function keyId(text: string): string | undefined {
  return keyPattern.exec(text)?.[1];
}

/** SHA-256 in hex: the only stored form of a key. */
export function keyDigest(text: string): string {
  return hash('sha256', text);
}
