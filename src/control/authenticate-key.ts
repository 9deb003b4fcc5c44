import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/time/clock.ts';
import { limits } from './limits.ts';
import type { ApiKey } from './api-keys.ts';
import type { Directory } from './directory.ts';
import { keyDigest, keyId, noDigest } from './key-text.ts';

export type KeyDirectory = Pick<Directory, 'apiKey' | 'organizationById'>;

/** Hashed if nothing with the form of a key was presented. */
const standIn = `ak_${'0'.repeat(16)}_${'0'.repeat(43)}`;

const noDigestBytes = Buffer.from(noDigest);

/** An absent or damaged digest compares as all zeros. */
function sameDigest(digest: Buffer, stored: string | undefined): boolean {
  const bytes = Buffer.from(stored ?? '');
  return timingSafeEqual(digest, bytes.length === noDigestBytes.length ? bytes : noDigestBytes);
}

/**
 * Undefined unless the key is valid now (contract: Credentials). The caller checks its scopes. Each failure takes the same
 * work.
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
 * As `authenticateKey`, but checks a failing key again by a state of at most `limits.controlFreshMsMax`, known or not: a key
 * works as soon as it was shown.
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

/** Has the form of a key, with an id that never existed here. */
export function isUnknownKey(directory: Pick<Directory, 'apiKey'>, presented: string | undefined): boolean {
  const id = presented === undefined ? undefined : keyId(presented);
  return id !== undefined && directory.apiKey(id) === undefined;
}
