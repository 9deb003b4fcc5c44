import { createHmac } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { JOSEError } from 'jose/errors';
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Clock } from '../base/time/clock.ts';
import { limits } from './limits.ts';
import type { Checks } from './provider.ts';

/** Kept by the browser. */
export interface Attempt extends Checks {
  /** The only organization that it can sign in to. */
  readonly organizationId: string;
  /** Path of the page to return to. */
  readonly returnTo: string;
}

export function newAttempt(about: Omit<Attempt, 'state' | 'nonce' | 'verifier'>): Attempt {
  return { ...about, state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
}

/** Attempts as encrypted, short-lived cookies (JWE, dir, A256GCM): nothing is stored. */
export class Attempts {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  /** The key is derived from the secret of sessions. */
  constructor(secret: string, clock: Clock) {
    this.#key = createHmac('sha256', secret).update('sign-on attempt').digest();
    this.#clock = clock;
  }

  seal(attempt: Attempt): Promise<string> {
    const expires = Math.floor((this.#clock() / 1000 + limits.attemptMs) / 1000);
    return new EncryptJWT({ ...attempt })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(expires)
      .encrypt(this.#key);
  }

  /** Undefined if forged or expired. */
  async open(text: string): Promise<Attempt | undefined> {
    try {
      const { payload } = await jwtDecrypt(text, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        currentDate: new Date(this.#clock() / 1000),
        clockTolerance: 0,
        requiredClaims: ['exp', ...members],
      });
      const isWhole = members.every((name) => typeof payload[name] === 'string');
      return isWhole ? (payload as unknown as Attempt) : undefined;
    } catch (error) {
      if (error instanceof JOSEError) return undefined;
      throw error;
    }
  }
}

const members = ['organizationId', 'returnTo', 'redirectUri', 'state', 'nonce', 'verifier'] as const;
