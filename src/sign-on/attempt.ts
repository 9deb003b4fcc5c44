import { createHmac } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { JOSEError } from 'jose/errors';
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Clock } from '../base/time/clock.ts';
import { limits } from './limits.ts';
import type { Checks } from './provider.ts';

/** A sign-in under way, as the browser keeps it. */
export interface Attempt extends Checks {
  /** Whose sign-in it is; nothing else can come of it. */
  readonly organizationId: string;
  /** A path of the page where it goes on. */
  readonly returnTo: string;
}

export function newAttempt(about: Omit<Attempt, 'state' | 'nonce' | 'verifier'>): Attempt {
  return { ...about, state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
}

/** Attempts as encrypted, short-lived cookies (JWE, dir, A256GCM): nothing is stored. */
export class Attempts {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  /** Attempts have a key derived from the secret of sessions. */
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

  /** Undefined where it is forged, or its time is over. */
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
