import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../base/files/durable-file.ts';
import { nextSegmentNumber } from '../base/events/sequence.ts';
import { errorCode } from '../base/errors/system-error.ts';
import { besideLog, type LogFiles, openLogFiles } from './files.ts';
import { limits } from './limits.ts';
import { answerBlocks, blocksOf, encodeBlocks } from './answer-files.ts';
import { partsBefore } from './answer-records.ts';
import { AnswerStore } from './answer-store.ts';
import { encodeHead } from './log-head.ts';
import type { ManifestEntry } from './manifest.ts';
import { encodeOrder } from './order-numbers.ts';
import {
  assess,
  encodeFileHeader,
  encodeManifestFrame,
  evidenceKinds,
  factsWith,
  fileHeaderBytes,
  frameSeed,
  scanSegment,
  type SegmentFacts,
  segmentName,
  segmentOfName,
  unfinishedEnding,
} from './segment.ts';

/** A segment as it was read: its first `bytes` hold whole requests, whatever was being written behind them. */
export interface SegmentCopy extends SegmentFacts {
  readonly number: number;
  readonly isDamaged: boolean;
  /** The version of the last manifest in it; 0 where there is none. */
  readonly manifestVersion: number;
  readonly file: Buffer;
}

/** A file that the log keeps beside its segments as evidence of damage, or of what the engine refused. */
const keptName = new RegExp(`^[\\w.]+\\.(${[...evidenceKinds, 'unknown'].join('|')})$`);

export const isKeptName = (name: string): boolean => keptName.test(name);

/**
 * The files that the log of a data directory has at one moment, held open: what the server removes meanwhile, as it has
 * reached the engine, can still be read. Nothing is written, so a server may run on it.
 */
export class HeldLog {
  /** Segments, rising; the last one takes appends, or is about to. */
  readonly segments: readonly number[];
  /** Those of large requests that are being written: nobody has been told of them, and they come into the order below others. */
  readonly unfinished: readonly number[];
  readonly kept: readonly string[];
  readonly #handles: ReadonlyMap<string, FileHandle>;

  private constructor(names: readonly string[], handles: ReadonlyMap<string, FileHandle>) {
    this.segments = names.flatMap((name) => segmentOfName(name) ?? []).toSorted((a, b) => a - b);
    this.unfinished = names
      .filter((name) => name.endsWith(unfinishedEnding))
      .flatMap((name) => segmentOfName(name.slice(0, -unfinishedEnding.length)) ?? []);
    this.kept = names.filter(isKeptName).toSorted();
    this.#handles = handles;
  }

  /** Rejects when a log changes its files faster than they can be opened. */
  static async open(dataDir: string): Promise<HeldLog> {
    const directory = join(dataDir, 'wal');
    for (let attempt = 0; attempt < limits.heldLogAttemptsMax; attempt += 1) {
      const names = await namesIn(directory);
      const handles = await openAll(directory, names);
      if (handles !== undefined) return new HeldLog(names, handles);
    }
    throw new Error(`the files of ${directory} change too fast to be read`);
  }

  async read(number: number): Promise<SegmentCopy> {
    const file = await this.readKept(segmentName(number));
    const scan = scanSegment(file, number);
    const { bytes, rows, checksum, damage } = assess(scan, fileHeaderBytes);
    const isDamaged = damage.length > 0;
    const facts = { number, isDamaged, rows, checksum, bytes, manifestVersion: scan.manifest?.version ?? 0 };
    return { ...facts, file: isDamaged ? file : file.subarray(0, bytes) };
  }

  async readKept(name: string): Promise<Buffer> {
    const handle = this.#handles.get(name);
    if (handle === undefined) throw new Error(`${name} is not held`);
    return handle.readFile();
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.values()) await handle.close();
  }
}

/** Undefined where one of them has gone since it was listed. */
async function openAll(
  directory: string,
  names: readonly string[],
): Promise<Map<string, FileHandle> | undefined> {
  const handles = new Map<string, FileHandle>();
  try {
    for (const name of names)
      if (segmentOfName(name) !== undefined || isKeptName(name))
        handles.set(name, await open(join(directory, name), 'r'));
    return handles;
  } catch (error) {
    for (const handle of handles.values()) await handle.close();
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The remembered answers of a data directory to requests that came before a moment (Unix milliseconds), as blocks
 * (answer-files.ts). Errors come last: those of an answer are there when it is.
 */
export async function* readAnswers(dataDir: string, beforeMs: number): AsyncGenerator<Uint8Array> {
  const directory = join(dataDir, 'idempotency');
  if ((await namesIn(directory)).length === 0) return;
  const files = await openLogFiles(directory);
  // Cut short by a crash, or still being written: its segment is in the log and brings it again.
  const rest = (): void => undefined;
  for (const kind of ['answers', 'errors'] as const)
    for await (const blocks of answerBlocks(files, kind, rest))
      yield Buffer.concat(
        encodeBlocks(
          kind,
          blocks.flatMap(({ content }) => partsBefore[kind](content, beforeMs)),
        ),
      );
}

/** Makes the log of a data directory that has none, of segments of another. */
export class LogMaker {
  readonly #dataDir: string;
  readonly #files: LogFiles;
  readonly #entries: ManifestEntry[] = [];
  /** Copied segments have manifests of the log that they were in. */
  #version = 0;

  private constructor(dataDir: string, files: LogFiles) {
    this.#dataDir = dataDir;
    this.#files = files;
  }

  /** What an earlier attempt has made is removed. */
  static async begin(dataDir: string): Promise<LogMaker> {
    for (const name of ['head', 'order'] as const) await besideLog(join(dataDir, 'wal'), name).remove();
    for (const name of ['wal', 'idempotency'])
      await rm(join(dataDir, name), { recursive: true, force: true });
    return new LogMaker(dataDir, await openLogFiles(join(dataDir, 'wal')));
  }

  async segment(
    { number, bytes, rows, checksum, manifestVersion }: Omit<SegmentCopy, 'file' | 'isDamaged'>,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    this.#version = Math.max(this.#version, manifestVersion);
    await this.kept(segmentName(number), pieces);
    this.#entries.push({ number, bytes, rows, checksum, isOpen: false });
  }

  async kept(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const file = await this.#files.create(name);
    try {
      for await (const piece of pieces) await file.append([piece]);
    } finally {
      await file.close();
    }
  }

  async answers(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const directory = join(this.#dataDir, 'idempotency');
    const store = await AnswerStore.open(await openLogFiles(directory), Date.now);
    const unknown = (): never => {
      throw new Error('the backup has remembered answers that cannot be read');
    };
    for await (const blocks of blocksOf(pieces, unknown)) await store.keepBlocks(blocks);
  }

  /**
   * An empty segment with a manifest of all others, so that what it does not name is not missed. Its number is above
   * `after`: numbers that this log gives go on from there, also where the clock is behind.
   */
  async finish(after: number): Promise<void> {
    const number = nextSegmentNumber(Date.now(), 0, after);
    const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
    const manifest = { version: this.#version + 1, entries: this.#entries };
    const frame = encodeManifestFrame(manifest, position);
    const file = await this.#files.create(segmentName(number));
    try {
      await file.append([encodeFileHeader(number), ...frame.parts]);
    } finally {
      await file.close();
    }
    await this.#files.syncDirectory();
    await this.#files.order.write(encodeOrder({ through: after, taken: new Map() }));
    const open = { number, ...factsWith({ bytes: fileHeaderBytes, rows: 0, checksum: 0 }, [frame]) };
    await this.#files.head.write(
      encodeHead({ newest: number, closed: { waiting: this.#entries.length, open } }),
    );
  }
}
