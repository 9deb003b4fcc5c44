import { createHash } from 'node:crypto';
import { baseUrl } from '../client/transport.ts';
import type { ToolDeps } from './context.ts';
import type { ImportTarget } from './import-send.ts';
import { neededKey } from './secret.ts';
import { trustedFetch, type TrustOptions } from './trusted-fetch.ts';

export interface TargetOptions extends TrustOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly org?: string;
}

export type ImportWork = (target: ImportTarget) => Promise<void>;

/** The id of a key; other text must not be shown. */
function keyId(key: string): string {
  const [, id] = /^ak_([0-9a-z]{16})_/.exec(key) ?? [];
  return id ?? `sha256:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

export async function targetAt(
  url: string,
  key: string,
  trust: TrustOptions,
  certificate?: string,
): Promise<ImportTarget> {
  const name = `${baseUrl(url).href} with the API key ${keyId(key)}`;
  return { url, key, name, keyIsNew: false, fetch: await trustedFetch(trust, certificate) };
}

export async function givenTarget(
  { environment }: ToolDeps,
  url: string,
  options: TargetOptions,
): Promise<ImportTarget> {
  return targetAt(url, await neededKey(options, environment), options);
}
