import { createHmac } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { JOSEError } from 'jose/errors';
import type { Clock } from '../base/time/clock.ts';
import type { Directory } from './directory.ts';
import { limits } from './limits.ts';
import type { User } from './users.ts';

const passwordLinkMs = 24 * 3_600_000;

export interface PasswordLink {
  readonly token: string;
  readonly expiresMicros: number;
}

export interface PasswordLinksOptions {
  /** The one of sessions; links have a key of their own, derived from it. */
  readonly secret: string;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'userById' | 'freshen'>;
}

const algorithm = 'HS256';

/**
 * Links by which users choose a password without the one before, as signed tokens. Nothing is stored of them: a token
 * names the number of the password that it replaces (`ver`), so it ends with its first use, with any other change of
 * the password, and when the user is disabled (contract: Credentials).
 */
export class PasswordLinks {
  readonly #options: PasswordLinksOptions;
  readonly #key: Uint8Array;

  constructor(options: PasswordLinksOptions) {
    this.#options = options;
    // No token of a session is ever good here, and none of these is good as a session.
    this.#key = createHmac('sha256', options.secret).update('password link').digest();
  }

  async issue({ id, credentialVersion }: User): Promise<PasswordLink> {
    const expiresSeconds = Math.floor((this.#options.clock() / 1000 + passwordLinkMs) / 1000);
    const token = await new SignJWT({ ver: credentialVersion })
      .setProtectedHeader({ alg: algorithm })
      .setSubject(id)
      .setExpirationTime(expiresSeconds)
      .sign(this.#key);
    return { token, expiresMicros: expiresSeconds * 1_000_000 };
  }

  /** Whose password a token replaces; undefined when it is forged, expired, or used. */
  async verify(token: string): Promise<User | undefined> {
    const { directory, clock } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [algorithm],
        currentDate: new Date(clock() / 1000),
        requiredClaims: ['sub', 'exp', 'ver'],
      });
      await directory.freshen(limits.controlFreshMsMax);
      const user = directory.userById(payload.sub ?? '');
      return user?.disabledMicros === undefined && user?.credentialVersion === payload['ver']
        ? user
        : undefined;
    } catch (error) {
      if (error instanceof JOSEError) return undefined;
      throw error;
    }
  }
}
