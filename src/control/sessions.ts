import { randomUUID } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { JOSEError } from 'jose/errors';
import type { Clock } from '../base/time/clock.ts';
import type { Directory } from './directory.ts';
import { type Change, changeOfUser } from './change-events.ts';
import { type Decide, unchanged } from './decision.ts';
import type { Organization, User } from './records.ts';

export interface Session {
  /** Claim `jti`. */
  readonly id: string;
  readonly user: User;
  readonly organization: Organization;
  readonly expiresMicros: number;
  readonly token: string;
}

export interface SessionsOptions {
  /** At least 32 bytes. */
  readonly secret: string;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'userById' | 'organizationById' | 'sessionEnded'>;
}

const algorithm = 'HS256';
const header = { alg: algorithm, typ: 'JWT' } as const;
const headerPart = Buffer.from(JSON.stringify(header)).toString('base64url');

/** Signed tokens (HS256 only). Only an early end of a session is stored. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #key: Uint8Array;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#key = new TextEncoder().encode(options.secret);
  }

  async issue(user: User, organization: Organization): Promise<Session> {
    const { clock, ttlMs } = this.#options;
    const id = randomUUID();
    const issuedSeconds = Math.floor(clock() / 1_000_000);
    const expiresSeconds = issuedSeconds + Math.floor(ttlMs / 1000);
    const token = await new SignJWT({ org: organization.id, role: user.role, ver: user.credentialVersion })
      .setProtectedHeader(header)
      .setSubject(user.id)
      .setJti(id)
      .setIssuedAt(issuedSeconds)
      .setExpirationTime(expiresSeconds)
      .sign(this.#key);
    return { id, user, organization, expiresMicros: expiresSeconds * 1_000_000, token };
  }

  /**
   * Undefined if the token is forged, spelled otherwise, expired or ended, or its user was disabled or has another password
   * (contract: Sessions). `evenEnded` accepts one that was ended before it expired.
   */
  async verify(token: string, evenEnded = false): Promise<Session | undefined> {
    const { clock, directory } = this.#options;
    const claims = await readClaims(token, this.#key, clock);
    if (claims === undefined) return undefined;
    const user = directory.userById(claims.sub);
    const organization = directory.organizationById(claims.org);
    if (user === undefined || organization === undefined || user.organizationId !== organization.id)
      return undefined;
    const hasEnded =
      user.disabledMicros !== undefined ||
      user.credentialVersion !== claims.ver ||
      directory.sessionEnded(claims.jti);
    if (hasEnded && !evenEnded) return undefined;
    return { id: claims.jti, user, organization, expiresMicros: claims.exp * 1_000_000, token };
  }
}

/** A logout. */
export function endSession({
  id,
  user,
  expiresMicros,
}: Pick<Session, 'id' | 'user' | 'expiresMicros'>): Decide<undefined> {
  return (state) => {
    if (state.sessionEnded(id)) return unchanged(undefined);
    const change: Change = changeOfUser(user, 'loggedOut');
    return { parts: [['ended_session', { id, expiresMicros }]], changes: [change], result: undefined };
  };
}

interface Claims {
  readonly sub: string;
  readonly org: string;
  readonly jti: string;
  readonly exp: number;
  readonly ver: number;
}

/**
 * Our header, and base64url without padding or unused bits. Decoders accept other spellings, so a session would have several
 * tokens.
 */
function isOwnSpelling(token: string): boolean {
  const [first, ...rest] = token.split('.');
  if (first !== headerPart || rest.length !== 2) return false;
  return rest.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

async function readClaims(token: string, key: Uint8Array, clock: Clock): Promise<Claims | undefined> {
  if (!isOwnSpelling(token)) return undefined;
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      currentDate: new Date(clock() / 1000),
      requiredClaims: ['sub', 'org', 'role', 'iat', 'exp', 'jti', 'ver'],
    });
    const { sub, jti, exp } = payload;
    const { org, ver } = payload as Record<string, unknown>;
    if (typeof sub !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return undefined;
    if (typeof org !== 'string' || typeof ver !== 'number') return undefined;
    return { sub, org, jti, exp, ver };
  } catch (error) {
    if (error instanceof JOSEError) return undefined;
    throw error;
  }
}
