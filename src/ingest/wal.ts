import { limits } from '../base/limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import { AppendQueue, framesBytesMax, rowsOf, type Waiting } from './append-queue.ts';
import type { LogFile, LogFiles } from './files.ts';
import { recover, type SealedSegment } from './recovery.ts';
import {
  decodeSegment,
  encodeFileHeader,
  encodeFrame,
  fileHeaderBytes,
  type FrameInput,
  type SegmentContent,
  segmentName,
} from './segment.ts';
import { nextSegmentNumber, rowsPerSegmentMax } from './sequence.ts';

export type { SealedSegment } from './recovery.ts';

export interface WalOptions {
  readonly files: LogFiles;
  readonly log: Logger;
  /** Bytes at which the open segment is sealed. */
  readonly segmentBytes: number;
  /** Bytes of all segments together above which appends are refused. */
  readonly bytesMax: number;
  readonly writer: number;
  readonly nowMs: () => number;
}

export interface Wal {
  /**
   * Appends frames to the open segment and resolves with its number when they survive a power cut. Concurrent calls
   * share one sync. Rejects with a 503 Problem, having stored nothing, when the log is full or the disk fails.
   */
  append(frames: readonly FrameInput[]): Promise<number>;
  /**
   * Closes the open segment if it holds rows; it is then in `sealed()`. Appends go on into it until the next one is
   * on disk.
   */
  seal(): Promise<void>;
  sealed(): readonly SealedSegment[];
  /** For how long the oldest rows that are not in the engine have waited, some segments aside; 0 when there are none. */
  waitingMs(without?: ReadonlySet<number>): number;
  /** Called after a segment was sealed, and after the first append to an empty one. */
  onChange(listener: { sealed(): void; started(): void }): void;
  read(segment: SealedSegment): Promise<SegmentContent>;
  /** Deletes a segment that has reached the engine. */
  release(segment: SealedSegment): Promise<void>;
  /** Keeps a segment as `<number>.refused` (by the engine, for its content) or `.damaged`, outside of the log. */
  setAside(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void>;
  /**
   * The lowest segment number whose rows may not be in the engine yet: what comes later is not below it. An idle log
   * takes a new number first, so that it does not hold back what others write.
   */
  lowestUnsettled(): Promise<number>;
  /** Whether every row up to and in this segment is in the engine. */
  isStored(segment: number): boolean;
  /** The last segment that earlier processes left; 0 when there is none. */
  readonly lastRecovered: number;
  bytes(): number;
  /** Undefined while appends work; otherwise why they do not. */
  failure(): string | undefined;
  close(): Promise<void>;
}

interface OpenSegment {
  readonly number: number;
  readonly file: LogFile;
  bytes: number;
  rows: number;
  /** Of its first rows. */
  sinceMs: number;
}

/** The segment after the open one, begun ahead of need. */
interface ComingSegment {
  readonly number: number;
  readonly segment: Promise<OpenSegment>;
  state: 'pending' | 'ready' | 'failed';
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: limits.walRetryAfterSeconds, cause });
}

/** Opens the log: what an earlier process left becomes sealed segments, and a new open segment is begun. */
export function openWal(options: WalOptions): Promise<Wal> {
  return WriteAheadLog.open(options);
}

class WriteAheadLog implements Wal {
  readonly lastRecovered: number;
  readonly #options: WalOptions;
  readonly #files: LogFiles;
  readonly #log: Logger;
  /** A segment takes appends until the next one is there, but not beyond this. */
  readonly #overfullBytes: number;

  #sealed: SealedSegment[];
  #open: OpenSegment | undefined;
  #coming: ComingSegment | undefined;
  /** The last number that was given out. */
  #highest: number;
  /** Number of the newest segment that is surely on disk. */
  #newest = 0;
  /** Files that nothing needs once the next segment is on disk. */
  readonly #leftovers = new Set<string>();
  #totalBytes: number;

  readonly #appends = new AppendQueue();
  readonly #seals = new AppendQueue();
  /** Size of the last append that did not fit: the log counts as full until it would, or another does. */
  #refusedBytes = 0;
  #failure: string | undefined;
  #closed = false;
  #isWorking = false;
  #working = Promise.resolve();
  #probing: NodeJS.Timeout | undefined;
  #listener = { sealed() {}, started() {} };

  private constructor(options: WalOptions, recovered: Awaited<ReturnType<typeof recover>>) {
    this.#options = options;
    this.#files = options.files;
    this.#log = options.log;
    const { segmentBytes } = options;
    this.#overfullBytes = Math.max(segmentBytes, Math.min(segmentBytes * 2, limits.walOverfullBytesMax));
    this.#sealed = recovered.segments;
    this.#highest = recovered.highest;
    this.lastRecovered = recovered.highest;
    this.#totalBytes = this.#sealed.reduce((sum, segment) => sum + segment.bytes, fileHeaderBytes);
  }

  static async open(options: WalOptions): Promise<WriteAheadLog> {
    const recovered = await recover(options.files, options.log);
    const wal = new WriteAheadLog(options, recovered);
    wal.#open = await wal.#begin(wal.#nextNumber());
    for (const name of recovered.empty) await options.files.remove(name);
    return wal;
  }

  append(frames: readonly FrameInput[]): Promise<number> {
    if (this.#closed) return Promise.reject(unavailable('The server is shutting down.'));
    const bytes = framesBytesMax(frames);
    const rows = rowsOf(frames);
    if (rows > rowsPerSegmentMax) {
      const why = `${rows} rows in one append: a segment numbers at most ${rowsPerSegmentMax}`;
      return Promise.reject(new Error(why));
    }
    if (this.#totalBytes + this.#appends.bytes + bytes > this.#options.bytesMax) {
      this.#refusedBytes = bytes;
      return Promise.reject(unavailable('The write-ahead log is full; try again later.'));
    }
    this.#refusedBytes = 0;
    return this.#enqueue(this.#appends, { frames, bytes, rows });
  }

  async seal(): Promise<void> {
    await this.#enqueue(this.#seals, { frames: [], bytes: 0, rows: 0 });
  }

  sealed(): readonly SealedSegment[] {
    return this.#sealed;
  }

  waitingMs(without?: ReadonlySet<number>): number {
    // They stand in the order in which they came.
    const oldest = this.#sealed.find(({ number }) => without?.has(number) !== true) ?? this.#open;
    return oldest === undefined || oldest.rows === 0 ? 0 : performance.now() - oldest.sinceMs;
  }

  onChange(listener: { sealed(): void; started(): void }): void {
    this.#listener = listener;
  }

  async read(segment: SealedSegment): Promise<SegmentContent> {
    const file = await this.#files.read(segmentName(segment.number));
    return decodeSegment(file.subarray(0, segment.bytes), segment.number);
  }

  async release(segment: SealedSegment): Promise<void> {
    await this.#outlive(segment);
    await this.#files.remove(segmentName(segment.number));
    // Gone for this process, whatever the sync says: a removal that a crash undoes is sent again, with doubt.
    this.#forget(segment);
    await this.#files.syncDirectory();
  }

  async setAside(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void> {
    await this.#outlive(segment);
    const name = segmentName(segment.number);
    await this.#files.rename(name, name.replace(/wal$/, why));
    this.#forget(segment);
    await this.#files.syncDirectory();
  }

  async lowestUnsettled(): Promise<number> {
    if (this.#isStale()) await this.seal();
    const waiting = this.#sealed.reduce(
      (lowest, { number }) => Math.min(lowest, number),
      Number.MAX_SAFE_INTEGER,
    );
    // Never a number that is not on disk yet: after a restart with the clock set back, lower ones would come.
    const next = this.#coming?.number === this.#newest ? this.#newest : this.#newest + 1;
    return Math.min(waiting, this.#open?.number ?? next);
  }

  isStored(segment: number): boolean {
    const open = this.#open;
    const isPast = open === undefined || open.rows === 0 || open.number > segment;
    return isPast && this.#sealed.every(({ number }) => number > segment);
  }

  bytes(): number {
    return this.#totalBytes;
  }

  failure(): string | undefined {
    const wanted = this.#totalBytes + this.#appends.bytes + this.#refusedBytes;
    return wanted > this.#options.bytesMax ? 'full' : this.#failure;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probing);
    while (this.#isWorking || this.#coming?.state === 'pending') {
      await Promise.allSettled([this.#working, this.#coming?.segment]);
    }
    await this.#open?.file.close();
    this.#open = undefined;
    // Empty: the next process removes it.
    const unused = await this.#coming?.segment.catch(() => undefined);
    await unused?.file.close();
    this.#coming = undefined;
  }

  // Work: one loop, so that nothing below runs twice at once but the making of the coming segment.

  #enqueue(queue: AppendQueue, work: Pick<Waiting, 'frames' | 'bytes' | 'rows'>): Promise<number> {
    return new Promise((resolve, reject) => {
      queue.push({ ...work, resolve, reject });
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#working = this.#work();
  }

  async #work(): Promise<void> {
    while (this.#appends.length > 0 || this.#mayRotate()) {
      if (this.#appends.length > 0) {
        const group = this.#appends.takeGroup();
        await this.#settle(group, () => this.#write(group));
      }
      if (this.#mayRotate()) {
        await this.#settle(this.#seals.takeAll(), async () => (await this.#rotate()).number);
      }
    }
    this.#isWorking = false;
  }

  /** Tells all who wait for this work what became of it. */
  async #settle(group: readonly Waiting[], work: () => Promise<number>): Promise<void> {
    try {
      const segment = await work();
      this.#failure = undefined;
      for (const waiting of group) waiting.resolve(segment);
    } catch (error) {
      this.#failure = errorFacts(error).code ?? 'the disk fails';
      const problem = unavailable('The events could not be made durable; try again later.', error);
      for (const waiting of group) waiting.reject(problem);
      this.#probe();
    }
  }

  /** Tries a write of its own until one works: an idle log must not look broken for ever after one fault. */
  #probe(): void {
    if (this.#closed || this.#probing !== undefined) return;
    this.#probing = setTimeout(() => {
      this.#probing = undefined;
      void this.seal().catch((error: unknown) => this.#log.debug(errorFacts(error), 'the log still fails'));
    }, limits.walProbeMs);
    this.#probing.unref();
  }

  /** Returns the segment that the group is in. */
  async #write(group: readonly Waiting[]): Promise<number> {
    let segment = this.#open ?? (await this.#rotate());
    const rows = group.reduce((sum, waiting) => sum + waiting.rows, 0);
    const isOverfull = segment.bytes >= this.#overfullBytes || segment.rows + rows > rowsPerSegmentMax;
    if (isOverfull) segment = await this.#rotate();
    const { parts, bytes } = encodeGroup(group, segment);
    try {
      await segment.file.append(parts);
    } catch (error) {
      await this.#abandon(segment, error);
      throw error;
    }
    const isFirst = segment.rows === 0;
    this.#totalBytes += bytes;
    segment.bytes += bytes;
    segment.rows += rows;
    if (isFirst) {
      segment.sinceMs = performance.now();
      this.#listener.started();
    }
    return segment.number;
  }

  /**
   * After a failed write or sync nobody knows what reached the disk, and a second sync may lie. The segment ends at
   * what was durable before; the next append begins a new one.
   */
  async #abandon(segment: OpenSegment, cause: unknown): Promise<void> {
    const { number } = segment;
    this.#log.error({ segment: number, ...errorFacts(cause) }, 'the write-ahead log could not be written');
    this.#open = undefined;
    if (segment.rows > 0) this.#addSealed(segment);
    try {
      await segment.file.truncate(segment.bytes);
    } catch (error) {
      this.#log.warn(
        { segment: number, ...errorFacts(error) },
        'the end of a failed segment could not be cut',
      );
    }
    await this.#closeFile(segment.file);
    // Its file stays until there is a newer one: see `#outlive`.
    if (segment.rows === 0) {
      this.#leftovers.add(segmentName(number));
      this.#totalBytes -= segment.bytes;
    }
  }

  // Segments.

  #nextNumber(): number {
    return nextSegmentNumber(this.#options.nowMs(), this.#options.writer, this.#highest);
  }

  async #begin(number: number): Promise<OpenSegment> {
    const name = segmentName(number);
    const file = await this.#files.create(name);
    this.#highest = number;
    // Until it is whole and known to last; then nothing needs the ones that failed before it.
    this.#leftovers.add(name);
    try {
      await file.append([encodeFileHeader(number)]);
      await this.#files.syncDirectory();
    } catch (error) {
      await this.#closeFile(file);
      throw error;
    }
    this.#newest = number;
    this.#leftovers.delete(name);
    await this.#removeLeftovers();
    return { number, file, bytes: fileHeaderBytes, rows: 0, sinceMs: 0 };
  }

  #prepare(): ComingSegment {
    const number = this.#nextNumber();
    const begun: ComingSegment = { number, segment: this.#begin(number), state: 'pending' };
    // Whoever takes it hears of a failure.
    const settled = begun.segment.then(
      () => 'ready' as const,
      () => 'failed' as const,
    );
    void settled.then((state) => {
      begun.state = state;
      this.#wake();
    });
    return begun;
  }

  /** Seals the open segment if it holds rows, or renews it if it is stale; waits for the next one where it must. */
  async #rotate(): Promise<OpenSegment> {
    const old = this.#open;
    if (old !== undefined && old.rows === 0 && !this.#isStale()) return old;
    if (old !== undefined && old.rows > 0) {
      this.#open = undefined;
      this.#addSealed(old);
    }
    // One that failed for a segment that has failed since then says nothing of the disk as it is now.
    if (old === undefined && this.#coming?.state === 'failed') this.#coming = undefined;
    this.#coming ??= this.#prepare();
    let next: OpenSegment;
    try {
      next = await this.#coming.segment;
    } finally {
      this.#coming = undefined;
      if (old !== undefined && old.rows > 0) await this.#closeFile(old.file);
    }
    this.#open = next;
    this.#totalBytes += fileHeaderBytes;
    if (old !== undefined && old.rows === 0) {
      this.#totalBytes -= old.bytes;
      await this.#closeFile(old.file);
      this.#leftovers.add(segmentName(old.number));
      await this.#removeLeftovers();
    }
    return next;
  }

  /**
   * Whether a seal is asked for and can be done at once: the next segment is begun while the open one goes on taking
   * appends, as making a file durable waits for whatever else the disk has to sync.
   */
  #mayRotate(): boolean {
    const open = this.#open;
    const isFull = open !== undefined && open.rows > 0 && open.bytes >= this.#options.segmentBytes;
    if (this.#seals.length === 0 && !isFull) return false;
    if (open === undefined || open.rows === 0) return true;
    this.#coming ??= this.#prepare();
    return this.#coming.state !== 'pending';
  }

  /** True for an open segment that is empty and has been for a while. */
  #isStale(): boolean {
    const { nowMs, writer } = this.#options;
    if (this.#closed || this.#open === undefined || this.#open.rows > 0) return false;
    return nextSegmentNumber(nowMs() - limits.walNumberAgeMsMax, writer, 0) > this.#open.number;
  }

  #addSealed({ number, rows, bytes, sinceMs }: OpenSegment): void {
    this.#sealed.push({ number, rows, bytes, recovered: false, sinceMs });
    this.#listener.sealed();
  }

  #forget(segment: SealedSegment): void {
    this.#sealed = this.#sealed.filter((other) => other.number !== segment.number);
    this.#totalBytes -= segment.bytes;
  }

  /**
   * Numbers rise from the highest one on disk, so a segment stays until a newer one is there: else its number, or one
   * that was said to be settled, could come again after a restart with the clock set back.
   */
  async #outlive(segment: SealedSegment): Promise<void> {
    if (segment.number >= this.#newest) await this.seal();
  }

  /** What cannot be removed now is tried again with the next segment. */
  async #removeLeftovers(): Promise<void> {
    for (const name of this.#leftovers) {
      try {
        await this.#files.remove(name);
        this.#leftovers.delete(name);
      } catch (error) {
        const facts = { name, ...errorFacts(error) };
        this.#log.warn(facts, 'a file of the log that nothing needs could not be removed');
      }
    }
  }

  /** All in it is durable, or not needed. */
  async #closeFile(file: LogFile): Promise<void> {
    try {
      await file.close();
    } catch (error) {
      this.#log.warn(errorFacts(error), 'a file of the log could not be closed');
    }
  }
}

/** The frames of a group as they are appended to a segment. */
function encodeGroup(
  group: readonly Waiting[],
  segment: OpenSegment,
): { parts: Uint8Array[]; bytes: number } {
  const parts: Uint8Array[] = [];
  let firstRow = segment.rows;
  let bytes = 0;
  for (const { frames } of group) {
    for (const [index, frame] of frames.entries()) {
      const place = { firstRow, following: frames.length - 1 - index, durableBytes: segment.bytes };
      for (const part of encodeFrame(frame, place)) {
        parts.push(part);
        bytes += part.length;
      }
      firstRow += frame.rows;
    }
  }
  return { parts, bytes };
}
