import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import {
  makeDirectories,
  namesIn,
  readIfThere,
  replaceFile,
  syncDirectory,
} from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';

const backupFindingsMax = 1_000;

export interface BackupRecord {
  readonly release: string;
  readonly id: string;
  /** RFC 3339: events acknowledged before are in it. */
  readonly moment: string;
  /** The full backup that it extends; null for a full one. */
  readonly base: string | null;
  readonly database: string;
  readonly migration: number;
  readonly events: number;
  readonly organizations: number;
  /** Ids of finished erasures; a backup with another one cannot extend this one. */
  readonly erasures: readonly string[];
  readonly secrets: readonly string[];
  /** Without files of the service. */
  readonly bytes: number;
}

export interface BackupFinding {
  readonly kind: 'missing' | 'altered';
  readonly backup: string;
  readonly path: string;
}

const sumsName = 'SHA256SUMS';
export const recordName = 'auditlog.json';
/** A backup is complete once its directory is named by its id. */
const unfinished = '.unfinished';
const idPattern = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-[0-9a-f]{8}$/;

export class BackupDirectory {
  readonly name: string;

  constructor(directory: string) {
    this.name = resolve(directory);
  }

  path(id: string, ...names: string[]): string {
    return join(this.name, id, ...names);
  }

  async begin(id: string): Promise<string> {
    await makeDirectories(this.name);
    await mkdir(this.path(id + unfinished), { mode: 0o700 });
    return this.path(id + unfinished);
  }

  /** Calls `pause` after each file. */
  async finish(id: string, pause: (bytes: number) => Promise<void>): Promise<{ files: number }> {
    const directory = this.path(id + unfinished);
    const lines: string[] = [];
    for (const path of await filesBelow(directory)) {
      const { sha256, bytes } = await digestFile(join(directory, path), true);
      lines.push(`${sha256}  ${path}\n`);
      await pause(bytes);
    }
    await replaceFile(join(directory, sumsName), lines.join(''));
    for (const path of new Set(lines.map((line) => join(directory, line.slice(66), '..'))))
      await syncDirectory(path);
    await rename(directory, this.path(id));
    await syncDirectory(this.name);
    return { files: lines.length + 1 };
  }

  async abandon(id: string): Promise<void> {
    await rm(this.path(id + unfinished), { recursive: true, force: true });
  }

  async freeBytes(): Promise<number> {
    await makeDirectories(this.name);
    const { bavail, bsize } = await statfs(this.name);
    return bavail * bsize;
  }

  async unfinished(): Promise<string[]> {
    return (await namesIn(this.name)).filter((name) => name.endsWith(unfinished));
  }

  async ids(): Promise<string[]> {
    return (await namesIn(this.name)).filter((name) => idPattern.test(name)).toSorted();
  }

  /** Sorts after all others, whatever the clock. */
  async nextId(nowMs: number): Promise<string> {
    const newest = (await this.ids()).at(-1)?.replace(idPattern, '$1-$2-$3T$4:$5:$6.$7Z');
    const ms = newest === undefined ? nowMs : Math.max(nowMs, Date.parse(newest) + 1);
    return `${new Date(ms).toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(4).toString('hex')}`;
  }

  /** A backup after the full one that it extends, if any. Undefined: the newest. Rejects with a Problem. */
  async chainOf(id?: string): Promise<BackupRecord[]> {
    const ids = await this.ids();
    const wanted = id ?? ids.at(-1);
    if (wanted === undefined)
      throw new Problem(
        'conflict',
        `${this.name} has no finished backup; name a directory written by "auditlog backup --to"`,
      );
    if (!ids.includes(wanted)) throw new Problem('conflict', `${this.name} has no backup ${wanted}`);
    const newest = await this.record(wanted);
    if (newest.base === null) return [newest];
    if (!ids.includes(newest.base))
      throw new Problem(
        'conflict',
        `the backup ${newest.base}, which ${wanted} extends, is missing in ${this.name}`,
      );
    return [await this.record(newest.base), newest];
  }

  async record(id: string): Promise<BackupRecord> {
    const sums = await this.#sums(id);
    const text = await readIfThere(this.path(id, recordName));
    const fault = text === undefined ? 'missing' : 'altered';
    if (text === undefined || createHash('sha256').update(text).digest('hex') !== sums?.get(recordName))
      throw new Problem('conflict', `${recordName} of the backup ${id} in ${this.name} is ${fault}`);
    return JSON.parse(text) as BackupRecord;
  }

  /** Verifies every file, and reports files without a checksum. */
  async findings(chain: readonly BackupRecord[], onFile: (bytes: number) => void): Promise<BackupFinding[]> {
    const findings: BackupFinding[] = [];
    for (const { id } of chain) {
      const find = (kind: BackupFinding['kind'], path: string) => findings.push({ kind, backup: id, path });
      const sums = await this.#sums(id);
      if (sums === undefined) find('altered', sumsName);
      const found = new Set(await filesBelow(this.path(id)));
      for (const [path, sha256] of sums ?? []) {
        if (!found.delete(path)) {
          find('missing', path);
          continue;
        }
        const digest = await digestFile(this.path(id, path), false);
        onFile(digest.bytes);
        if (digest.sha256 !== sha256) find('altered', path);
      }
      for (const path of found) find('altered', path);
    }
    return findings.slice(0, backupFindingsMax);
  }

  /** Undefined if a line is malformed. */
  async #sums(id: string): Promise<Map<string, string> | undefined> {
    const sums = new Map<string, string>();
    const lines = (await readIfThere(this.path(id, sumsName)))?.split('\n') ?? [''];
    if (lines.pop() !== '') return undefined;
    for (const line of lines) {
      const [, sha256, path] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
      if (sha256 === undefined || path === undefined) return undefined;
      sums.set(path, sha256);
    }
    return sums.size === 0 ? undefined : sums;
  }
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((path) => path !== sumsName)
    .toSorted();
}

async function digestFile(path: string, isNew: boolean): Promise<{ sha256: string; bytes: number }> {
  if (isNew) {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}

export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const path of await filesBelow(directory)) bytes += (await stat(join(directory, path))).size;
  return bytes;
}
