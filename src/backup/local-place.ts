import { open, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeDirectories, readIfThere, replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorCode, fileErrorWords, isDiskFull } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';
import { latestName, type BackupPlace, requirePath } from './place.ts';

const ending = '.unfinished';

/** A directory with one directory a backup, which has another name until it is whole. */
export class LocalPlace implements BackupPlace {
  readonly name: string;
  readonly #made = new Set<string>();

  constructor(directory: string) {
    this.name = resolve(directory);
  }

  async freeBytes(): Promise<number> {
    await this.#told(() => makeDirectories(this.name));
    const { bavail, bsize } = await statfs(this.name);
    return bavail * bsize;
  }

  async put(id: string, path: string, content: Uint8Array): Promise<void> {
    requirePath(id, path);
    const target = join(this.name, `${id}${ending}`, path);
    await this.#told(async () => {
      await makeDirectories(dirname(target));
      this.#made.add(dirname(target));
      const handle = await open(target, 'wx', 0o600);
      try {
        await handle.writeFile(content);
        await handle.datasync();
      } finally {
        await handle.close();
      }
    });
  }

  async get(id: string, path: string): Promise<Buffer | undefined> {
    requirePath(id, path);
    const file = join(this.name, id, path);
    try {
      const found = await stat(file);
      // We put none such there, and it would have to be read to be known as altered.
      if (!found.isFile() || found.size > limits.backupFileBytesMax)
        throw new Problem('conflict', `${file} cannot be of a backup: it is too large, or no file`);
      return await readFile(file);
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
      throw error;
    }
  }

  async finish(id: string, latest: string): Promise<void> {
    await this.#told(async () => {
      for (const directory of this.#made) await syncDirectory(directory);
      await syncDirectory(join(this.name, `${id}${ending}`));
      await rename(join(this.name, `${id}${ending}`), join(this.name, id));
      await syncDirectory(this.name);
      await replaceFile(join(this.name, latestName), latest);
    });
  }

  async abandon(id: string): Promise<void> {
    await rm(join(this.name, `${id}${ending}`), { recursive: true, force: true });
  }

  latest(): Promise<string | undefined> {
    return readIfThere(join(this.name, latestName));
  }

  async unfinished(): Promise<string[]> {
    const names = await readdir(this.name);
    return names.filter((name) => name.endsWith(ending)).map((name) => join(this.name, name));
  }

  /** A full disk names no file, and whoever reads it wants to know which disk. */
  async #told(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isDiskFull(error))
        throw new Error(`the disk of ${this.name} is full: free some space on it`, { cause: error });
      const words = fileErrorWords(error);
      throw words === undefined ? error : new Error(words, { cause: error });
    }
  }
}
