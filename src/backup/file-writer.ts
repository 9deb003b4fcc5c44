import { limits } from './limits.ts';
import { type Files, sha256Of, type StoredFile } from './manifest.ts';
import type { BackupPlace } from './place.ts';

/** Puts the files of one backup, and counts them. */
export class FileWriter {
  readonly #place: BackupPlace;
  readonly #id: string;
  #count = 0;
  bytes = 0;

  constructor(place: BackupPlace, id: string) {
    this.#place = place;
    this.#id = id;
  }

  /** How many files there are. */
  get count(): number {
    return this.#count;
  }

  /** Puts bytes under `name`, in as many files as they need; none where there are no bytes. */
  async put(name: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Files> {
    const files: StoredFile[] = [];
    let held: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (bytes === 0) return;
      const number = String(files.length).padStart(4, '0');
      files.push(await this.#put(`${name}.${number}`, Buffer.concat(held)));
      held = [];
      bytes = 0;
    };
    for await (const piece of pieces)
      for (let at = 0; at < piece.length; ) {
        const part = piece.subarray(at, at + limits.backupFileBytes - bytes);
        held.push(part);
        bytes += part.length;
        at += part.length;
        if (bytes === limits.backupFileBytes) await flush();
      }
    await flush();
    return files;
  }

  async #put(path: string, content: Buffer): Promise<StoredFile> {
    await this.#place.put(this.#id, path, content);
    this.#count += 1;
    this.bytes += content.length;
    return { path, bytes: content.length, sha256: sha256Of(content) };
  }
}
