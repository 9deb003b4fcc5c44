import { createHash, type Hash } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { DirectoryInUseError, type DirectoryLock, lockDirectory } from '../base/files/directory-lock.ts';
import { replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { errorCode } from '../base/errors/system-error.ts';
import type { ExportPlan } from '../read/export-plan.ts';
import { AppendFile } from '../base/files/append-file.ts';
import { createFileCompressor, type FileCompression } from '../tools/compress.ts';
import { readState } from '../tools/state-file.ts';

/** The file's content, as JSON values. Only an export of an equal subject continues an unfinished file. */
export interface ExportSubject extends Readonly<Record<string, unknown>> {
  readonly compression: FileCompression;
}

export interface ExportSnapshot {
  /** Unix microseconds; also the `logged_time` of its events. */
  readonly takenMicros: number;
  readonly seqMax: string;
}

export interface ExportOrder {
  readonly file: string;
  readonly subject: ExportSubject;
  /** Discards anything an earlier run left. */
  readonly restart: boolean;
  plan(): Promise<ExportSnapshot & ExportPlan>;
}

export interface ExportResult extends ExportSnapshot {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** The table no longer has the events of the plan: late ones came, or some expired. */
export class SnapshotGoneError extends Error {
  constructor() {
    super('the events of this time have changed since the export began');
    this.name = 'SnapshotGoneError';
  }
}

interface ExportState extends ExportSnapshot, ExportPlan {
  readonly version: 1;
  readonly subject: ExportSubject;
  readonly finished: { readonly bytes: number; readonly sha256: string }[];
}

/**
 * An export to a file that appears only when complete:
 *
 *     FILE.partial/data         finished slices, then a part of the next
 *     FILE.partial/state.json   snapshot, plan, and size and SHA-256 of each finished slice
 *
 * A slice is finished once its data are synced and the state names it. A later run verifies the finished slices, truncates
 * the rest and continues. At the end `finish` renames the manifest, then the data.
 */
export class PartialExport {
  readonly #file: string;
  readonly #lock: DirectoryLock;
  readonly #data: AppendFile;
  #state: ExportState;
  /** The hash of the finished slices. */
  #whole: Hash = createHash('sha256');

  private constructor(file: string, lock: DirectoryLock, data: AppendFile, state: ExportState) {
    this.#file = file;
    this.#lock = lock;
    this.#data = data;
    this.#state = state;
  }

  static async open({ file, subject, restart, plan }: ExportOrder): Promise<PartialExport> {
    const directory = `${file}.partial`;
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    const lock = await lockPartial(directory, file);
    try {
      const known = restart ? undefined : await loadState(directory, subject);
      const state = known ?? newState(subject, await plan());
      const data = await AppendFile.open(join(directory, 'data'));
      const partial = new PartialExport(file, lock, data, state);
      await partial.#verify();
      return partial;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get plan(): ExportSnapshot & ExportPlan {
    return this.#state;
  }

  get finishedSlices(): number {
    return this.#state.finished.length;
  }

  get rowsDone(): number {
    return this.#state.slices.slice(0, this.finishedSlices).reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Discards everything, for a plan of another moment. */
  async restart(plan: ExportSnapshot & ExportPlan): Promise<void> {
    this.#state = newState(this.#state.subject, plan);
    await this.#verify();
  }

  async write(slice: AsyncIterable<Buffer>): Promise<void> {
    const { subject, finished } = this.#state;
    const digest = createHash('sha256');
    const before = this.#data.bytes;
    for await (const chunk of compressed(slice, subject.compression)) {
      this.#whole.update(chunk);
      digest.update(chunk);
      await this.#data.append(chunk);
    }
    await this.#data.sync();
    finished.push({ bytes: this.#data.bytes - before, sha256: digest.digest('hex') });
    await this.#save();
  }

  async finish(manifest: (result: ExportResult) => object): Promise<ExportResult> {
    const { takenMicros, seqMax, rows } = this.#state;
    const result = { takenMicros, seqMax, rows, bytes: this.#data.bytes, sha256: this.#whole.digest('hex') };
    const text = `${JSON.stringify(manifest(result), undefined, 2)}\n`;
    await replaceFile(`${this.#file}.manifest.json`, text, this.#path('manifest.json'));
    await rename(this.#path('data'), this.#file);
    await syncDirectory(dirname(this.#file));
    await rm(`${this.#file}.partial`, { recursive: true, force: true });
    return result;
  }

  async close(): Promise<void> {
    await this.#data.close();
    await this.#lock.release();
  }

  #path(name: string): string {
    return join(`${this.#file}.partial`, name);
  }

  async #save(): Promise<void> {
    await replaceFile(this.#path('state.json'), JSON.stringify(this.#state));
  }

  /** Truncates data and state after the last slice whose data match its sum. */
  async #verify(): Promise<void> {
    const { finished } = this.#state;
    let whole = createHash('sha256');
    let bytes = 0;
    const { size } = await this.#data.handle.stat();
    for (const [index, slice] of finished.entries()) {
      const digest = createHash('sha256');
      const withSlice = whole.copy();
      const range = { start: bytes, end: bytes + slice.bytes - 1, autoClose: false };
      if (slice.bytes > 0 && bytes + slice.bytes <= size) {
        for await (const chunk of this.#data.handle.createReadStream(range) as AsyncIterable<Buffer>) {
          digest.update(chunk);
          withSlice.update(chunk);
        }
      }
      if (digest.digest('hex') !== slice.sha256) {
        finished.splice(index);
        break;
      }
      whole = withSlice;
      bytes += slice.bytes;
    }
    await this.#data.truncate(bytes);
    this.#whole = whole;
    await this.#save();
  }
}

/** Locks the directory of an unfinished export to `target`. Rejects if another command has locked it. */
export async function lockPartial(directory: string, target: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory);
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw error;
    const by = error.holder === undefined ? '' : ` (process ${error.holder.pid})`;
    throw new Error(`another export to ${target} is running${by}; wait for its end`, { cause: error });
  }
}

function newState(subject: ExportSubject, plan: ExportSnapshot & ExportPlan): ExportState {
  const { takenMicros, seqMax, rows, slices } = plan;
  return { version: 1, subject, takenMicros, seqMax, rows, slices, finished: [] };
}

async function loadState(directory: string, subject: ExportSubject): Promise<ExportState | undefined> {
  const state = await readState<ExportState>(join(directory, 'state.json'));
  if (state === undefined || JSON.stringify(state.subject) === JSON.stringify(subject)) return state;
  throw new Error(`${directory} contains another unfinished export: finish it, or discard it with --restart`);
}

/** A failure of the source makes the result fail. */
function compressed(source: AsyncIterable<Buffer>, compression: FileCompression): AsyncIterable<Buffer> {
  const compressor = createFileCompressor(compression);
  if (compressor === undefined) return source;
  // A failure destroys the compressor, so its reader gets the error.
  pipeline(source, compressor, () => undefined);
  return compressor;
}
