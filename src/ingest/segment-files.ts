import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LogFile, LogFiles } from './files.ts';
import type { LogHead } from './log-head.ts';
import { segmentName, segmentOfName, unfinishedEnding } from './segment.ts';

interface ObsoleteFile {
  /** Removable once a manifest of this version is durable. */
  readonly version: number;
  readonly bytes: number;
}

export class SegmentFiles {
  readonly #files: LogFiles;
  readonly #log: Logger;
  readonly #head: Pick<LogHead, 'begun'>;
  readonly #obsolete = new Map<string, ObsoleteFile>();
  #obsoleteBytes = 0;
  #unsynced = new Set<string>();
  #newest: number;
  #removing = Promise.resolve();

  constructor(files: LogFiles, log: Logger, newest: number, head: Pick<LogHead, 'begun'>) {
    this.#files = files;
    this.#log = log;
    this.#head = head;
    this.#newest = newest;
  }

  get obsoleteBytes(): number {
    return this.#obsoleteBytes;
  }

  get newest(): number {
    return this.#newest;
  }

  /**
   * Creates a segment's file, one append per slice, and names it in `wal-head`. It gets its name once
   * complete, so a named file without a header is damaged. `version`: of the manifest at its beginning.
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
      // The file may have either name now.
      for (const left of [unfinished, name]) this.discard(left, version, 0);
      // At once: a disk that is full for hours must not collect a file per attempt.
      await this.#remove([unfinished, name]);
      throw error;
    }
    this.#newest = Math.max(this.#newest, number);
    try {
      await this.#head.begun(number);
    } catch (error) {
      await this.close(file);
      // The head may name it, so it stays until a newer one is named.
      this.discard(name, version, 0);
      throw error;
    }
    return file;
  }

  /** Removes the file after a manifest of `version` is durable; its bytes count until then. */
  discard(name: string, version: number, bytes: number): void {
    this.#obsolete.set(name, { version, bytes });
    this.#obsoleteBytes += bytes;
  }

  removeObsolete(open: { readonly number: number; readonly manifestVersion: number }): void {
    const names = [...this.#obsolete]
      .filter(([, { version }]) => version <= open.manifestVersion)
      .map(([name]) => name)
      .filter((name) => (segmentOfName(name) ?? 0) < open.number);
    if (names.length > 0) this.#removing = this.#removing.then(() => this.#remove(names));
  }

  /** Whether a discarded or renamed file exists, or could again after a power cut. */
  mayHave(name: string): boolean {
    return this.#obsolete.has(name) || this.#unsynced.has(name);
  }

  /**
   * Renames a file to a name that no segment has; calls `done` after renaming, and resolves when that is
   * durable.
   */
  async setAside(name: string, as: string, done: () => void): Promise<void> {
    await this.#files.rename(name, as);
    this.#unsynced.add(name);
    done();
    await this.#sync();
  }

  removed(): Promise<void> {
    return this.#removing;
  }

  /** Call once the content is durable or obsolete. */
  async close(file: Pick<LogFile, 'close'>): Promise<void> {
    try {
      await file.close();
    } catch (error) {
      this.#log.warn(errorFacts(error), 'Closing a log file failed');
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
          this.#log.warn(facts, 'Removing an obsolete log file failed; will retry');
          continue;
        }
      }
      this.#unsynced.add(name);
      this.#obsolete.delete(name);
      this.#obsoleteBytes -= file.bytes;
    }
  }
}
