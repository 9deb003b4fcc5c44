import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/time/clock.ts';
import { limits } from './limits.ts';
import type { ApiKey } from './api-keys.ts';
import type { Directory } from './directory.ts';
import { keyDigest, keyId, noDigest } from './key-text.ts';

/** The parts of the directory that decide about a key. */
export type KeyDirectory = Pick<Directory, 'apiKey' | 'organizationById'>;

/** A stand-in of a key's length, hashed where nothing with the form of a key was presented. */
const standIn = `ak_${'0'.repeat(16)}_${'0'.repeat(43)}`;

const noDigestBytes = Buffer.from(noDigest);

/** An absent or damaged digest compares as all zeros, which nothing hashes to that anyone could find. */
function sameDigest(digest: Buffer, stored: string | undefined): boolean {
  const bytes = Buffer.from(stored ?? '');
  return timingSafeEqual(digest, bytes.length === noDigestBytes.length ? bytes : noDigestBytes);
}

/**
 * The key that a caller presented, if it is good now: known, its secret (or, within the grace of a rotation, the one
 * before) right, not expired, not revoked, its organization there (contract: Credentials). Scopes are the caller's
 * business. The same work is done whatever is wrong.
 */
export function authenticateKey(
  directory: KeyDirectory,
  presented: string | undefined,
  nowMicros: number,
): ApiKey | undefined {
  const id = presented === undefined ? undefined : keyId(presented);
  const digest = Buffer.from(keyDigest(id === undefined || presented === undefined ? standIn : presented));
  const key = id === undefined ? undefined : directory.apiKey(id);
  const current = sameDigest(digest, key?.digest);
  const previous = sameDigest(digest, key?.previousDigest);
  if (key === undefined) return undefined;
  const inGrace = key.previousUntilMicros !== undefined && nowMicros < key.previousUntilMicros;
  const secretRight = current || (previous && inGrace);
  const alive =
    key.revokedMicros === undefined && (key.expiresMicros === undefined || nowMicros < key.expiresMicros);
  const owned =
    key.organizationId === undefined || directory.organizationById(key.organizationId) !== undefined;
  return secretRight && alive && owned ? key : undefined;
}

/**
 * As `authenticateKey`, but a key that fails is checked once more against a state that is at most
 * `limits.controlFreshMsMax` old: a key works from the moment it was shown, not from the next refresh. Every failure
 * with the form of a key takes that way, known or not.
 */
export async function authenticateKeyFresh(
  directory: KeyDirectory & Pick<Directory, 'freshen'>,
  presented: string | undefined,
  clock: Clock,
): Promise<ApiKey | undefined> {
  const key = authenticateKey(directory, presented, clock());
  if (key !== undefined || presented === undefined || keyId(presented) === undefined) return key;
  await directory.freshen(limits.controlFreshMsMax);
  return authenticateKey(directory, presented, clock());
}

/** Whether a text has the form of a key whose id is of none that is here, whatever became of it. */
export function isUnknownKey(directory: Pick<Directory, 'apiKey'>, presented: string | undefined): boolean {
  const id = presented === undefined ? undefined : keyId(presented);
  return id !== undefined && directory.apiKey(id) === undefined;
}
