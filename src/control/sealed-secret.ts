import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/**
 * Secrets of others that have to be stored: AES-256-GCM under a key derived from that of sessions, so whoever reads the
 * tables alone learns nothing. What a secret is for is bound to it: in another row it cannot be opened.
 *
 *     base64url of: nonce (12 bytes) · tag (16 bytes) · ciphertext
 */
export class SealedSecrets {
  readonly #key: Uint8Array;

  /** `secret` is the one of sessions. */
  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('stored secrets').digest();
  }

  seal(text: string, purpose: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(purpose));
    const sealed = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url');
  }

  /** Undefined where it was sealed with another key, for something else, or has been altered. */
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
      // All that `final` throws for is a tag that does not fit.
      return undefined;
    }
  }
}

const nonceBytes = 12;
const tagBytes = 16;
