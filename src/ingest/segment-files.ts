import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LogFile, LogFiles } from './files.ts';
import type { LogHead } from './log-head.ts';
import { segmentName, segmentOfName, unfinishedEnding } from './segment.ts';

interface ObsoleteFile {
  /** Nothing needs the file once a manifest of this version is durable. */
  readonly version: number;
  readonly bytes: number;
}

/** Makes the files of segments, and removes those that nothing needs any more. */
export class SegmentFiles {
  readonly #files: LogFiles;
  readonly #log: Logger;
  readonly #head: Pick<LogHead, 'begun'>;
  readonly #obsolete = new Map<string, ObsoleteFile>();
  #obsoleteBytes = 0;
  /** Names whose removal a power cut may undo. */
  #unsynced = new Set<string>();
  /** Number of the newest segment that is surely on disk. */
  #newest: number;
  #removing = Promise.resolve();

  constructor(files: LogFiles, log: Logger, newest: number, head: Pick<LogHead, 'begun'>) {
    this.#files = files;
    this.#log = log;
    this.#head = head;
    this.#newest = newest;
  }

  /** Bytes of files that nothing needs and that are still there. */
  get obsoleteBytes(): number {
    return this.#obsoleteBytes;
  }

  get newest(): number {
    return this.#newest;
  }

  /**
   * Makes the file of a segment, one append a slice, and notes it beside the log. It has its name once it is whole, so
   * one with that name and without a header is damaged. `version` is that of the manifests at the beginning.
   */
  async create(number: number, version: number, slices: Iterable<readonly Uint8Array[]>): Promise<LogFile> {
    const name = segmentName(number);
    const unfinished = `${name}${unfinishedEnding}`;
    const file = await this.#files.create(unfinished);
    try {
      for (const slice of slices) await file.append(slice);
      await this.#files.rename(unfinished, name);
      await this.#sync();
    } catch (error) {
      await this.close(file);
      // Nothing needs what there is of it; which name that has nobody knows.
      for (const left of [unfinished, name]) this.discard(left, version, 0);
      // At once: a disk that is full for hours must not collect one for each attempt.
      await this.#remove([unfinished, name]);
      throw error;
    }
    this.#newest = Math.max(this.#newest, number);
    try {
      await this.#head.begun(number);
    } catch (error) {
      await this.close(file);
      // Whether the head names it nobody knows: it stays until a newer one is named.
      this.discard(name, version, 0);
      throw error;
    }
    return file;
  }

  /** The file goes after a manifest of `version` is durable; its bytes count until then. */
  discard(name: string, version: number, bytes: number): void {
    this.#obsolete.set(name, { version, bytes });
    this.#obsoleteBytes += bytes;
  }

  /** Removes what this open segment's manifest allows; what cannot be removed now is tried again after the next. */
  removeObsolete(open: { readonly number: number; readonly manifestVersion: number }): void {
    const names = [...this.#obsolete]
      .filter(([, { version }]) => version <= open.manifestVersion)
      .map(([name]) => name)
      .filter((name) => (segmentOfName(name) ?? 0) < open.number);
    if (names.length > 0) this.#removing = this.#removing.then(() => this.#remove(names));
  }

  /** Whether a file that was discarded or set aside is there, or could be there again after a power cut. */
  mayHave(name: string): boolean {
    return this.#obsolete.has(name) || this.#unsynced.has(name);
  }

  /** Gives a file another name, which is no segment's; `done` is called when it has it, and it resolves when that is durable. */
  async setAside(name: string, as: string, done: () => void): Promise<void> {
    await this.#files.rename(name, as);
    this.#unsynced.add(name);
    done();
    await this.#sync();
  }

  /** Resolves when all removals so far have been tried. */
  removed(): Promise<void> {
    return this.#removing;
  }

  /** All in the file is durable, or not needed. */
  async close(file: Pick<LogFile, 'close'>): Promise<void> {
    try {
      await file.close();
    } catch (error) {
      this.#log.warn(errorFacts(error), 'a file of the log could not be closed');
    }
  }

  async #sync(): Promise<void> {
    const unsynced = this.#unsynced;
    this.#unsynced = new Set();
    try {
      await this.#files.syncDirectory();
    } catch (error) {
      for (const name of unsynced) this.#unsynced.add(name);
      throw error;
    }
  }

  async #remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const file = this.#obsolete.get(name);
      if (file === undefined) continue;
      try {
        await this.#files.remove(name);
      } catch (error) {
        const facts = { name, ...errorFacts(error) };
        if (facts.code !== 'ENOENT') {
          this.#log.warn(facts, 'a file of the log that nothing needs could not be removed');
          continue;
        }
      }
      this.#unsynced.add(name);
      this.#obsolete.delete(name);
      this.#obsoleteBytes -= file.bytes;
    }
  }
}
