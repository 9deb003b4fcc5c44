import { readFile } from 'node:fs/promises';
import { limits } from './limits.ts';
import { ConfigError } from './config.ts';

/** The soft limit as the system tells it; undefined where it does not, or where there is none. */
async function openFilesLimit(): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const found = /^Max open files\s+(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8'));
  return found === null ? undefined : Number(found[1]);
}

/**
 * Rejects with a ConfigError where this process, and so an engine that it starts, may open too few files: such an
 * engine fails in the midst of a merge. Node has raised the limit to the highest that it may set itself.
 */
export async function checkOpenFiles(): Promise<void> {
  const allowed = await openFilesLimit();
  if (allowed === undefined || allowed >= limits.openFilesMin) return;
  throw new ConfigError([
    `the limit of open files is ${allowed} (ulimit -Hn, or LimitNOFILE= of systemd): at least ${limits.openFilesMin} are needed`,
  ]);
}
