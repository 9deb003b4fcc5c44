import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { lockDirectory } from '../base/directory-lock.ts';
import { readIfThere, replaceFile, syncDirectory } from '../base/durable-file.ts';
import { errorCode } from '../base/system-error.ts';
import { limits } from './limits.ts';
import type { ExportPlan, ExportSlice } from '../read/export-plan.ts';
import { createFileCompressor, type FileCompression } from './compress.ts';

/** What the file is to hold; an unfinished file is continued only by the very same. JSON values. */
export type ExportSubject = Readonly<Record<string, unknown>>;

/** The moment that an export shows. */
export interface ExportSnapshot {
  /** Unix microseconds; also the `logged_time` of its events. */
  readonly takenMicros: number;
  readonly seqMax: string;
}

export interface ExportJob {
  readonly file: string;
  readonly subject: ExportSubject;
  readonly compression: FileCompression;
  /** Throw away what an earlier run has left, whatever it is. */
  readonly restart: boolean;
  plan(): Promise<ExportSnapshot & ExportPlan>;
  /** Called once, with the whole known and nothing read yet. */
  beforeReading(rows: number, resumedRows: number): Promise<void>;
  /** The bytes of one slice. Rejects with SnapshotGoneError when the table does not hold the plan's events any more. */
  readSlice(snapshot: ExportSnapshot, slice: ExportSlice, place: SlicePlace): Promise<Readable>;
  /** Told of bytes on their way, before compression. */
  passing(chunk: Uint8Array, rowsBefore: number, slice: ExportSlice): void;
}

/** Where a slice stands: the first one brings what opens a file, the last one what closes it. */
export interface SlicePlace {
  readonly first: boolean;
  readonly last: boolean;
}

export interface ExportResult extends ExportSnapshot {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Events came or went beneath the plan: late ones, or ones whose time to be kept is over. */
export class SnapshotGoneError extends Error {
  constructor() {
    super('the events of this time have changed since the export began');
    this.name = 'SnapshotGoneError';
  }
}

interface FinishedSlice {
  readonly bytes: number;
  readonly sha256: string;
}

interface ExportState extends ExportSnapshot {
  readonly version: 1;
  readonly subject: ExportSubject;
  readonly rows: number;
  readonly slices: readonly ExportSlice[];
  readonly finished: FinishedSlice[];
}

/**
 * Exports to a file that appears whole or not at all:
 *
 *     FILE.partial/data         finished slices, then a part of the next
 *     FILE.partial/state.json   snapshot, plan, and size and SHA-256 of each finished slice
 *
 * A slice counts once it is synced and the state says so. A later run of the same export checks the finished ones
 * against their sums, cuts off the rest and goes on. At the end the manifest and then the data get their names.
 */
export async function exportToFile(
  job: ExportJob,
  manifest: (result: ExportResult) => object,
): Promise<ExportResult> {
  const directory = `${job.file}.partial`;
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  const lock = await lockDirectory(directory).catch((error: unknown) => {
    throw new Error(`another export to ${job.file} is running`, { cause: error });
  });
  try {
    const result = await writeData(job, directory);
    const text = `${JSON.stringify(manifest(result), undefined, 2)}\n`;
    await replaceFile(`${job.file}.manifest.json`, text, join(directory, 'manifest.json'));
    await rename(join(directory, 'data'), job.file);
    await syncDirectory(dirname(job.file));
    await rm(directory, { recursive: true, force: true });
    return result;
  } finally {
    await lock.release();
  }
}

async function writeData(job: ExportJob, directory: string): Promise<ExportResult> {
  if (job.restart) await discard(directory);
  let told = false;
  for (let attempt = 1; ; attempt++) {
    const state = (await loadState(job, directory)) ?? (await newState(job));
    const data = await open(join(directory, 'data'), 'a+', 0o600);
    try {
      const kept = await verify(data, state);
      await saveState(directory, state);
      const resumed = state.slices.slice(0, state.finished.length).reduce((sum, { rows }) => sum + rows, 0);
      if (!told) await job.beforeReading(state.rows, resumed);
      told = true;
      const bytes = await writeSlices(job, directory, state, { data, ...kept });
      const { takenMicros, seqMax, rows } = state;
      return { takenMicros, seqMax, rows, bytes, sha256: kept.whole.digest('hex') };
    } catch (error) {
      if (!(error instanceof SnapshotGoneError)) throw error;
      if (attempt >= limits.exportSnapshotsMax) throw error;
      await discard(directory);
    } finally {
      await data.close();
    }
  }
}

interface Writing {
  readonly data: FileHandle;
  readonly whole: Hash;
  readonly bytes: number;
}

async function writeSlices(
  job: ExportJob,
  directory: string,
  state: ExportState,
  { data, whole, bytes }: Writing,
): Promise<number> {
  let written = bytes;
  let rowsBefore = 0;
  for (const [index, slice] of state.slices.entries()) {
    if (index >= state.finished.length) {
      const place = { first: index === 0, last: index === state.slices.length - 1 };
      const source = await job.readSlice(state, slice, place);
      const digest = createHash('sha256');
      let sliceBytes = 0;
      const before = rowsBefore;
      const seen = watched(source, (chunk) => job.passing(chunk, before, slice));
      for await (const chunk of await compressed(seen, job.compression)) {
        whole.update(chunk);
        digest.update(chunk);
        await writeAll(data, chunk);
        sliceBytes += chunk.length;
      }
      await data.datasync();
      state.finished.push({ bytes: sliceBytes, sha256: digest.digest('hex') });
      await saveState(directory, state);
      written += sliceBytes;
    }
    rowsBefore += slice.rows;
  }
  return written;
}

async function* watched(
  source: Readable,
  passing: (chunk: Uint8Array) => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    passing(chunk);
    yield chunk;
  }
}

/** A failure of the source is one of the result. */
async function compressed(
  source: AsyncIterable<Buffer>,
  compression: FileCompression,
): Promise<AsyncIterable<Buffer>> {
  const compressor = createFileCompressor(compression);
  if (compressor === undefined) return source;
  // Whoever reads the compressor hears of every failure from it.
  pipeline(source, compressor, () => undefined);
  return compressor;
}

async function writeAll(data: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await data.write(chunk, at)).bytesWritten;
}

async function newState(job: ExportJob): Promise<ExportState> {
  const { takenMicros, seqMax, rows, slices } = await job.plan();
  return { version: 1, subject: job.subject, takenMicros, seqMax, rows, slices, finished: [] };
}

/** Undefined: nothing is there to go on with. Throws where it is another export's. */
async function loadState(job: ExportJob, directory: string): Promise<ExportState | undefined> {
  const text = await readIfThere(join(directory, 'state.json'));
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as ExportState;
  if (state.version === 1 && JSON.stringify(state.subject) === JSON.stringify(job.subject)) return state;
  throw new Error(
    `${directory} holds another unfinished export: finish that one, or discard it with --restart`,
  );
}

/** Cuts the data, and the state with it, after the last slice that is as the state says. */
async function verify(data: FileHandle, state: ExportState): Promise<Omit<Writing, 'data'>> {
  let whole = createHash('sha256');
  let bytes = 0;
  const { size } = await data.stat();
  for (const [index, slice] of state.finished.entries()) {
    const digest = createHash('sha256');
    const withSlice = whole.copy();
    const range = { start: bytes, end: bytes + slice.bytes - 1, autoClose: false };
    if (slice.bytes > 0 && bytes + slice.bytes <= size) {
      for await (const chunk of data.createReadStream(range) as AsyncIterable<Buffer>) {
        digest.update(chunk);
        withSlice.update(chunk);
      }
    }
    if (digest.digest('hex') !== slice.sha256) {
      state.finished.splice(index);
      break;
    }
    whole = withSlice;
    bytes += slice.bytes;
  }
  await data.truncate(bytes);
  return { whole, bytes };
}

async function saveState(directory: string, state: ExportState): Promise<void> {
  await replaceFile(join(directory, 'state.json'), JSON.stringify(state));
}

async function discard(directory: string): Promise<void> {
  await rm(join(directory, 'state.json'), { force: true });
  await rm(join(directory, 'data'), { force: true });
}
