import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/**
 * Stored secrets of others: AES-256-GCM under a key derived from the session secret. A secret is bound to its purpose: in
 * another row it cannot be opened.
 *
 *     base64url of: nonce (12 bytes) · tag (16 bytes) · ciphertext
 */
export class SealedSecrets {
  readonly #key: Uint8Array;

  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('stored secrets').digest();
  }

  seal(text: string, purpose: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(purpose));
    const sealed = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url');
  }

  /** Undefined if it was altered, or sealed with another key or for another purpose. */
  open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const text = decipher.update(bytes.subarray(nonceBytes + tagBytes));
    try {
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      // `final` throws only for a wrong tag.
      return undefined;
    }
  }
}

const nonceBytes = 12;
const tagBytes = 16;
