import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode } from '../base/errors/system-error.ts';
import type { Storage } from './storage.ts';

/** Files that the engine does not count among the bytes of a part. */
const uncounted: ReadonlySet<string> = new Set([
  'checksums.txt',
  'columns.txt',
  'columns_substreams.txt',
  'default_compression_codec.txt',
  'metadata_version.txt',
]);

interface NewPart {
  readonly name: string;
  readonly path: string;
  readonly bytes: string;
}

/**
 * Whether the files of new parts are as long as the engine believes. The embedded engine does not notice when a write
 * fails (a full disk, an input/output error): it answers as if all had been stored, and the part cannot be read.
 */
export class WrittenParts {
  readonly #storage: Storage;
  readonly #table: string;
  #whole = new Set<string>();

  constructor(storage: Storage, table = 'events') {
    this.#storage = storage;
    this.#table = table;
  }

  /** Takes the parts that are there for whole: the engine has just loaded them, and then it looks at their files. */
  async trustLoaded(): Promise<void> {
    this.#whole = new Set((await this.#active()).map(({ name }) => name));
  }

  /** The names of parts that are not whole, among those that were not found whole before. */
  async findBroken(): Promise<string[]> {
    const active = await this.#active();
    const names = new Set(active.map(({ name }) => name));
    for (const name of this.#whole) if (!names.has(name)) this.#whole.delete(name);
    const broken: string[] = [];
    for (const part of active) {
      if (this.#whole.has(part.name)) continue;
      if ((await isWhole(part)) === false) broken.push(part.name);
      else this.#whole.add(part.name);
    }
    return broken;
  }

  #active(): Promise<NewPart[]> {
    return this.#storage.rows<NewPart>(
      `SELECT name, path, bytes_on_disk AS bytes FROM system.parts
       WHERE database = currentDatabase() AND table = {table:String} AND active`,
      { table: this.#table },
    );
  }
}

/** Undefined where the part has been merged away and removed in the meantime. */
async function isWhole({ path, bytes }: NewPart): Promise<boolean | undefined> {
  try {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const sizes = await Promise.all(files.map(async (file) => ({ file, size: (await stat(file)).size })));
    const counted = sizes.filter(({ file }) => !uncounted.has(basename(file)));
    const sum = counted.reduce((total, { size }) => total + size, 0);
    return (
      sum >= Number(bytes) && sizes.every(({ file, size }) => size > 0 || !uncounted.has(basename(file)))
    );
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
