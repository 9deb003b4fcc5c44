import { Problem } from '../base/errors/problem.ts';

/**
 * Where backups are: each is a set of files under its id, and a file `latest.json` says which is the newest. A file is
 * there whole or not at all; a backup is when `finish` has returned.
 */
export interface BackupPlace {
  /** As an operator knows it. */
  readonly name: string;
  /** Bytes that there is room for; undefined where nobody knows. */
  freeBytes(): Promise<number | undefined>;
  /** Rejects with an Error for the operator. */
  put(id: string, path: string, content: Uint8Array): Promise<void>;
  /** A file of a finished backup; undefined where there is none. */
  get(id: string, path: string): Promise<Buffer | undefined>;
  /** Makes a backup one that is found, once all of its files have been put. */
  finish(id: string, latest: string): Promise<void>;
  /** Takes away what there is of a backup that will not be finished. */
  abandon(id: string): Promise<void>;
  latest(): Promise<string | undefined>;
  /** Names of what runs that were cut short have left, or are writing now. */
  unfinished(): Promise<string[]>;
}

export const latestName = 'latest.json';

/** Names of files are made by us, and may have been altered since. */
export function requirePath(id: string, path: string): void {
  const isPlain = (name: string): boolean => /^[\w-][\w.-]*$/.test(name);
  if (!isPlain(id) || !path.split('/').every(isPlain))
    throw new Problem('conflict', `the backup names a file that it cannot have: ${JSON.stringify(path)}`);
}
