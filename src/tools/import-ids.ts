import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { replaceFile } from '../base/files/durable-file.ts';
import { ifThere, namingFile } from '../base/errors/system-error.ts';

/** Remembered record ids: 16 bytes on disk and about 70 in memory each. */
const importIdsMax = 1_000_000;

const digestBytes = 16;

/**
 * Ids of recorded records, so that a record in two files is recorded once. The file has 16 bytes for each (a digest of target,
 * mapping and id), newest last. An id is added after the server has acknowledged its event.
 */
export class ImportedIds {
  readonly #path: string;
  readonly #scope: string;
  readonly #known: Set<string>;
  #file: FileHandle | undefined;

  private constructor(path: string, scope: string, known: Iterable<string>) {
    this.#path = path;
    this.#scope = scope;
    this.#known = new Set(known);
  }

  /** `scope` separates targets and mappings. `restart`: ignores earlier runs. */
  static async open(path: string, scope: string, restart: boolean): Promise<ImportedIds> {
    const bytes = (await ifThere(readFile(path)))?.toString('latin1') ?? '';
    const whole = bytes.slice(0, bytes.length - (bytes.length % digestBytes));
    const kept = whole.slice(-importIdsMax * digestBytes);
    const isLong = bytes.length > 2 * kept.length;
    if (isLong || whole.length < bytes.length) await replaceFile(path, Buffer.from(kept, 'latin1'));
    return new ImportedIds(path, scope, restart ? [] : digestsIn(kept));
  }

  /** The digest of a new id, now remembered; undefined if known. */
  take(id: string): string | undefined {
    const digest = createHash('sha256')
      .update(`${this.#scope}\0${id}`)
      .digest('binary')
      .slice(0, digestBytes);
    if (this.#known.has(digest)) return undefined;
    this.#known.add(digest);
    const [oldest] = this.#known;
    if (this.#known.size > importIdsMax && oldest !== undefined) this.#known.delete(oldest);
    return digest;
  }

  async add(digests: readonly string[]): Promise<void> {
    if (digests.length === 0) return;
    await namingFile(this.#path, async () => {
      this.#file ??= await open(this.#path, 'a', 0o600);
      await this.#file.appendFile(digests.join(''), 'latin1');
      await this.#file.datasync();
    });
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

function* digestsIn(bytes: string): Generator<string> {
  for (let at = 0; at < bytes.length; at += digestBytes) yield bytes.slice(at, at + digestBytes);
}
