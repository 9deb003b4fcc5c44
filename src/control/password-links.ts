import { createHmac } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { JOSEError } from 'jose/errors';
import { Problem } from '../base/errors/problem.ts';
import type { Clock } from '../base/time/clock.ts';
import { changeOfUser } from './change-events.ts';
import type { Decide } from './decision.ts';
import type { Directory } from './directory.ts';
import { limits } from './limits.ts';
import { findUser, type User, type UserReference } from './users.ts';

const passwordLinkMs = 24 * 3_600_000;

export interface PasswordLink {
  readonly user: string;
  /** Of the password that it replaces. */
  readonly version: number;
  readonly expiresMicros: number;
}

export interface PasswordLinksOptions {
  /** That of sessions; links use a derived key. */
  readonly secret: string;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'userById' | 'freshen'>;
}

const algorithm = 'HS256';

/** Its event is all that is stored. Throws Problem `not_found`, and `conflict` for a disabled user. */
export function makePasswordLink(reference: UserReference): Decide<PasswordLink> {
  return (state, { micros }) => {
    const user = findUser(state, reference);
    if (user.disabledMicros !== undefined) throw new Problem('conflict', 'This user is disabled.');
    const { id, credentialVersion: version } = user;
    const expiresMicros = Math.floor(micros / 1_000_000) * 1_000_000 + passwordLinkMs * 1000;
    const result = { user: id, version, expiresMicros };
    return { parts: [], changes: [changeOfUser(user, 'passwordLinkMade')], result };
  };
}

/**
 * Signed tokens, not stored. A token names the number of the password that it replaces (`ver`), so it ends with its first use
 * and any other change of the password (contract: Credentials).
 */
export class PasswordLinks {
  readonly #options: PasswordLinksOptions;
  readonly #key: Uint8Array;

  constructor(options: PasswordLinksOptions) {
    this.#options = options;
    // So links and sessions cannot pass for each other.
    this.#key = createHmac('sha256', options.secret).update('password link').digest();
  }

  /** The same for the same link. */
  token({ user, version, expiresMicros }: PasswordLink): Promise<string> {
    return new SignJWT({ ver: version })
      .setProtectedHeader({ alg: algorithm })
      .setSubject(user)
      .setExpirationTime(expiresMicros / 1_000_000)
      .sign(this.#key);
  }

  /** Undefined if the token is forged, expired or used. */
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
