import { Problem } from '../../base/errors/problem.ts';
import { retryPolicy, withRetries } from '../../client/retry.ts';
import { baseUrl, endpoint, requestBytes } from '../../client/transport.ts';
import { entryBytes } from '../../tlog/entry.ts';
import { tilePath, tileWidth, widthIn } from '../../tlog/tile.ts';
import type { ToolDeps } from '../context.ts';
import { neededKey } from '../secret.ts';
import { trustedFetch, type TrustOptions } from '../trusted-fetch.ts';

const keepRequestMsMax = 30_000;
const keepRetryMsMax = 120_000;

export interface RemoteOptions extends TrustOptions {
  readonly url?: string;
  readonly keyFile?: string;
}

/** Errors and layout: contract (Read, evidence). */
export interface RemoteTree {
  /** The newest checkpoint, or the oldest of at least `size` events. */
  checkpoint(size?: number): Promise<string>;
  /** At most `tiles` bundles of entries of a tree of `size` events, each as wide as in that tree. */
  bundles(first: number, tiles: number, size: number): Promise<Buffer[]>;
}

export async function remoteTree({ environment }: ToolDeps, options: RemoteOptions): Promise<RemoteTree> {
  if (options.url === undefined) throw new Problem('malformed', '--keep needs a service: give --url');
  const base = baseUrl(options.url);
  const headers = { 'X-API-Key': await neededKey(options, environment) };
  const ask = await trustedFetch(options);
  const policy = retryPolicy({}, keepRetryMsMax);
  const get = (path: string, query: object = {}): Promise<Buffer> =>
    withRetries(policy, {}, async () => {
      const url = endpoint(base, `api/v1/audit/evidence/${path}`, query);
      return Buffer.from(
        await requestBytes({ method: 'GET', url, headers, timeoutMs: keepRequestMsMax, fetch: ask }),
      );
    });
  const bundle = async (index: number, size: number): Promise<Buffer> => {
    const width = widthIn({ level: 0, index }, size);
    const bytes = await get(tilePath({ kind: 'entries', level: 0, index, width }));
    if (bytes.length === width * (entryBytes + 2)) return bytes;
    throw new Error(`the service sent a bundle of ${bytes.length} bytes for ${width} entries`);
  };
  return {
    checkpoint: async (size) => String(await get('checkpoint', size === undefined ? {} : { size })),
    bundles(first, tiles, size) {
      const count = Math.min(tiles, Math.ceil(size / tileWidth) - first);
      return Promise.all(Array.from({ length: count }, (_, n) => bundle(first + n, size)));
    },
  };
}
