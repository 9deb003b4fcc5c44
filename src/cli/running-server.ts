import { type LockHolder, lockHolder } from '../base/files/directory-lock.ts';
import { parseServerFile, type ServerFile } from '../base/files/server-file.ts';
import { ifThere } from '../base/errors/system-error.ts';
import type { Answer } from '../contract/document.ts';
import { trustedFetch } from '../tools/trusted-fetch.ts';

const cliServerAskMsMax = 2_000;

type Status = Answer<'CliStatus'>;

const none: Status = { running: false, pid: null, url: null, started_at: null, ready: false, checks: {} };

/** The server of a data directory; undefined if there is none. */
export async function serverOn(dataDir: string): Promise<LockHolder | undefined> {
  const holder = await ifThere(lockHolder(dataDir));
  return holder?.kind === 'server' ? holder : undefined;
}

export async function askStatus(dataDir: string): Promise<Status> {
  const holder = await serverOn(dataDir);
  if (holder === undefined) return none;
  const { pid } = holder;
  const file = await parseServerFile(dataDir);
  // Before it listens it has no file; a killed server's file names another process.
  if (file === undefined || file.pid !== pid) return { ...none, running: true, pid };
  const { url, started_at } = file;
  return { running: true, pid, url, started_at, ...(await askReadiness(file)) };
}

async function askReadiness({ url, certificate }: ServerFile): Promise<Pick<Status, 'ready' | 'checks'>> {
  const ask = await trustedFetch({}, certificate);
  try {
    const answer = await ask(`${url}/readyz`, { signal: AbortSignal.timeout(cliServerAskMsMax) });
    const { checks = {} } = (await answer.json()) as { readonly checks?: Status['checks'] };
    return { ready: answer.ok, checks };
  } catch {
    // Refused, reset, too slow or not JSON: not ready.
    return { ready: false, checks: {} };
  }
}
