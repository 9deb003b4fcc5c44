import { type LockHolder, lockHolder } from '../base/files/directory-lock.ts';
import { parseServerFile, type ServerFile } from '../base/files/server-file.ts';
import { ifThere } from '../base/errors/system-error.ts';
import type { Answer } from '../contract/document.ts';
import { trustedFetch } from '../tools/trusted-fetch.ts';

const cliServerAskMsMax = 2_000;

type Status = Answer<'CliStatus'>;

const none: Status = { running: false, pid: null, url: null, started_at: null, ready: false, checks: {} };

/** The server that has a data directory; undefined where there is none. */
export async function serverOn(dataDir: string): Promise<LockHolder | undefined> {
  const holder = await ifThere(lockHolder(dataDir));
  return holder?.kind === 'server' ? holder : undefined;
}

/** What the server on a data directory is, and whether it is ready, by its own word. */
export async function statusOf(dataDir: string): Promise<Status> {
  const holder = await serverOn(dataDir);
  if (holder === undefined) return none;
  const { pid } = holder;
  const file = await parseServerFile(dataDir);
  // Until it listens it has no file; one that a killed server left is not of this process.
  if (file === undefined || file.pid !== pid) return { ...none, running: true, pid };
  const { url, started_at } = file;
  return { running: true, pid, url, started_at, ...(await readinessOf(file)) };
}

async function readinessOf({ url, certificate }: ServerFile): Promise<Pick<Status, 'ready' | 'checks'>> {
  const ask = await trustedFetch({}, certificate);
  try {
    const answer = await ask(`${url}/readyz`, { signal: AbortSignal.timeout(cliServerAskMsMax) });
    const { checks = {} } = (await answer.json()) as { readonly checks?: Status['checks'] };
    return { ready: answer.ok, checks };
  } catch {
    // Refused, reset, too slow or no JSON: it does not answer as a server that is ready does, whatever the reason.
    return { ready: false, checks: {} };
  }
}
