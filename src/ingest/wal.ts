import { isDiskFull } from '../base/system-error.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import { AppendQueue, framesBytesMax, rowsOf, type Waiting } from './append-queue.ts';
import { DiskRoom } from './disk-room.ts';
import type { LogFile, LogFiles } from './files.ts';
import { encodeManifest, type ManifestEntry } from './manifest.ts';
import {
  type DamageReports,
  evidenceName,
  noteMissing,
  type Recovered,
  Recovery,
  type SealedSegment,
  unfinishedEnding,
} from './recovery.ts';
import {
  chainSum,
  decodeSegment,
  type EncodedFrame,
  encodeFileHeader,
  encodeFrame,
  encodeManifestFrame,
  fileHeaderBytes,
  type FrameInput,
  frameSeed,
  type SegmentContent,
  segmentName,
  segmentOfName,
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
  /** An append of so many bytes gets a segment of its own; `walLargeAppendBytesMin` where it is left out. */
  readonly largeBytes?: number;
  /** Bytes of the disk that appends leave free; 0 where it is left out. */
  readonly keepFreeBytes?: number;
  readonly writer: number;
  readonly nowMs: () => number;
  /** Milliseconds that only pass, as the clock may be set; `performance.now` where it is left out. */
  readonly passedMs?: () => number;
  readonly damage: DamageReports;
}

export interface Wal {
  /**
   * Appends frames to the open segment and resolves with its number when they survive a power cut. Concurrent calls
   * share one sync; a large one has a segment of its own, and nobody waits for it. `organization` is the only one
   * whose events are in them, where there is one. Rejects with a 503 Problem, having stored nothing, when the log is
   * full or the disk fails.
   */
  append(frames: readonly FrameInput[], organization?: string): Promise<number>;
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
  /** Lets go of a segment that has reached the engine: its file is deleted, or kept as evidence if it is damaged. */
  release(segment: SealedSegment): Promise<void>;
  /** Keeps a segment as `<number>.refused` (by the engine, for its content) or `.damaged`, outside of the log. */
  quarantine(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void>;
  /** Gives up a segment whose file is gone, and reports that. */
  reportMissing(segment: SealedSegment): Promise<void>;
  /**
   * The lowest segment number whose rows may not be in the engine yet: what comes later is not below it. An idle log
   * takes a new number first, so that it does not hold back what others write.
   */
  lowestUnsettled(): Promise<number>;
  /** The same by organization: a large request of one holds back no other's. */
  unsettled(): Promise<Unsettled>;
  /** Whether every row up to and in this segment is in the engine. */
  isStored(segment: number): boolean;
  /** The last segment that earlier processes left; 0 when there is none. */
  readonly lastRecovered: number;
  bytes(): number;
  /** Undefined while appends work; otherwise why they do not. */
  failure(): string | undefined;
  close(): Promise<void>;
}

/** Lowest segment numbers whose rows may not be in the engine yet; see `lowestUnsettled`. */
export interface Unsettled {
  /** Of segments that may hold events of any organization. */
  readonly lowest: number;
  /** Of segments that hold events of one only, by its id. */
  readonly ofOrganization: ReadonlyMap<string, number>;
}

interface OpenSegment {
  readonly number: number;
  readonly file: LogFile;
  readonly seed: number;
  /** By `passedMs`. */
  readonly begunMs: number;
  bytes: number;
  rows: number;
  checksum: number;
  /** Version of the last manifest in it. */
  noted: number;
  /** Of its first rows. */
  sinceMs: number;
}

type Sealing = Pick<OpenSegment, 'number' | 'rows' | 'bytes' | 'checksum' | 'sinceMs'>;

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

/**
 * The log. One segment is open and takes appends; the next is begun ahead of need; sealed ones wait for the engine.
 *
 *     sealed sealed sealed  open  (coming)
 *       └──────┴──────┴──────┘ its last manifest names these: see manifest.ts
 *
 * A large request has a segment of its own, which is written beside the open one and is sealed when it is whole: so
 * neither the acknowledgement of smaller ones nor their INSERT waits for it. Its number is above that of the segment
 * that was open then. Numbers must rise from the highest on disk, so it is acknowledged once a newer one is open.
 *
 * Whatever changes what is needed (a seal, a release) counts as a change, and the manifest of that change is written
 * into the open segment: with the next appends, or by itself when there are none. A file is removed once a manifest
 * without it is durable, so what is missing at a start is lost, and is told.
 */
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
  /** Changes of what is needed so far: the version of the manifest that tells them all. */
  #changes: number;
  /** The last change that a manifest must tell soon; a release among many can wait for the next. */
  #toNote = 0;
  /** Files that nothing needs once the open segment's manifest is of this version; bytes count until they are gone. */
  readonly #obsolete = new Map<string, { readonly change: number; readonly bytes: number }>();
  #removing = Promise.resolve();
  #totalBytes: number;

  readonly #appends = new AppendQueue();
  /** Each gets a segment of its own; written one after the other. */
  readonly #largeAppends = new AppendQueue();
  readonly #largeBytes: number;
  /** The one that is being written. */
  #writingLarge: Pick<SealedSegment, 'number' | 'organization'> | undefined;
  #isWorkingLarge = false;
  #workingLarge = Promise.resolve();
  /** Number of the newest of these segments. */
  #newestLarge = 0;
  readonly #room: DiskRoom;
  readonly #seals = new AppendQueue();
  /** Those who wait for a manifest. */
  readonly #notes = new AppendQueue();
  /** Size of the last append that did not fit: the log counts as full until it would, or another does. */
  #refusedBytes = 0;
  #failure: string | undefined;
  #closed = false;
  #isWorking = false;
  #working = Promise.resolve();
  #probing: NodeJS.Timeout | undefined;
  #listener = { sealed() {}, started() {} };

  private constructor(options: WalOptions, recovered: Recovered) {
    this.#options = options;
    this.#files = options.files;
    this.#log = options.log;
    const { segmentBytes } = options;
    this.#largeBytes = options.largeBytes ?? limits.walLargeAppendBytesMin;
    this.#room = new DiskRoom(options.files, options.keepFreeBytes ?? 0, options.log);
    this.#overfullBytes = Math.max(segmentBytes, Math.min(segmentBytes * 2, limits.walOverfullBytesMax));
    this.#sealed = recovered.segments;
    this.#highest = recovered.highest;
    this.lastRecovered = recovered.highest;
    this.#changes = recovered.manifestVersion + 1;
    this.#totalBytes = this.#sealed.reduce((sum, segment) => sum + segment.bytes, 0);
    for (const name of recovered.empty) this.#obsolete.set(name, { change: 0, bytes: 0 });
  }

  static async open(options: WalOptions): Promise<WriteAheadLog> {
    const recovered = await new Recovery(options.files, options.log, options.damage).run();
    const wal = new WriteAheadLog(options, recovered);
    await wal.#room.look();
    await wal.#beginFirst();
    await wal.#removing;
    return wal;
  }

  /** The first segment of this process. None on a full disk, which is no reason not to serve what is stored. */
  async #beginFirst(): Promise<void> {
    try {
      this.#adopt(await this.#begin(this.#nextNumber()));
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.#failure = errorFacts(error).code ?? 'full';
      this.#log.error(
        errorFacts(error),
        'the disk is full: the write-ahead log takes no writes until there is room; reads go on',
      );
      // It stays, as the number that all later ones are above.
      this.#newest = this.lastRecovered;
      this.#probe();
    }
  }

  append(frames: readonly FrameInput[], organization?: string): Promise<number> {
    if (this.#closed) return Promise.reject(unavailable('The server is shutting down.'));
    const bytes = framesBytesMax(frames);
    const rows = rowsOf(frames);
    if (rows > rowsPerSegmentMax) {
      const why = `${rows} rows in one append: a segment numbers at most ${rowsPerSegmentMax}`;
      return Promise.reject(new Error(why));
    }
    if (this.#isFull(bytes)) {
      this.#refusedBytes = bytes;
      return Promise.reject(unavailable('The write-ahead log is full; try again later.'));
    }
    this.#refusedBytes = 0;
    const isLarge = bytes >= this.#largeBytes;
    return this.#enqueue(isLarge ? this.#largeAppends : this.#appends, { frames, bytes, rows, organization });
  }

  async seal(): Promise<void> {
    await this.#enqueue(this.#seals, { frames: [], bytes: 0, rows: 0 });
  }

  sealed(): readonly SealedSegment[] {
    return this.#sealed;
  }

  waitingMs(without?: ReadonlySet<number>): number {
    const waiting = this.#sealed.filter(({ number }) => without?.has(number) !== true);
    const open = this.#open !== undefined && this.#open.rows > 0 ? [this.#open] : [];
    const now = performance.now();
    return [...waiting, ...open].reduce((most, { sinceMs }) => Math.max(most, now - sinceMs), 0);
  }

  onChange(listener: { sealed(): void; started(): void }): void {
    this.#listener = listener;
  }

  async read(segment: SealedSegment): Promise<SegmentContent> {
    const file = await this.#files.read(segmentName(segment.number));
    return decodeSegment(file, segment.number, segment.bytes);
  }

  async release(segment: SealedSegment): Promise<void> {
    if (segment.isDamaged) return this.quarantine(segment, 'damaged');
    // Gone for this process, whatever the disk says: a file that stays is sent again after a restart, with doubt.
    this.#forget(segment);
    const { number, bytes } = segment;
    this.#totalBytes += bytes;
    this.#obsolete.set(segmentName(number), { change: this.#changes, bytes });
    await this.#note();
    await this.#removing;
  }

  async quarantine(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void> {
    await this.#outlive(segment);
    // While the log closes it stays what it is: the next start finds it again, and its number cannot come twice.
    if (this.#closed) return;
    await this.#files.rename(segmentName(segment.number), evidenceName(segment.number, why));
    this.#forget(segment);
    this.#toNote = this.#changes;
    await this.#files.syncDirectory();
    await this.#note();
  }

  async reportMissing(segment: SealedSegment): Promise<void> {
    this.#forget(segment);
    this.#toNote = this.#changes;
    await noteMissing(this.#files, { number: segment.number, rows: segment.rows }, this.#options);
    await this.#note();
  }

  async lowestUnsettled(): Promise<number> {
    const { lowest, ofOrganization } = await this.unsettled();
    return Math.min(lowest, ...ofOrganization.values());
  }

  async unsettled(): Promise<Unsettled> {
    if (this.#isStale()) await this.seal();
    // Never a number above all on disk: after a restart with the clock set back, lower ones would come.
    const coming = this.#coming?.number ?? Number.MAX_SAFE_INTEGER;
    const next = Math.min(coming, this.#newest + 1);
    let lowest = this.#open?.number ?? next;
    const ofOrganization = new Map<string, number>();
    const waiting = this.#writingLarge === undefined ? this.#sealed : [...this.#sealed, this.#writingLarge];
    for (const { number, organization } of waiting) {
      if (organization === undefined) lowest = Math.min(lowest, number);
      else ofOrganization.set(organization, Math.min(number, ofOrganization.get(organization) ?? number));
    }
    return { lowest, ofOrganization };
  }

  isStored(segment: number): boolean {
    const open = this.#open;
    const isOpenPast = open === undefined || open.rows === 0 || open.number > segment;
    const isPast = isOpenPast && (this.#writingLarge === undefined || this.#writingLarge.number > segment);
    return isPast && this.#sealed.every(({ number }) => number > segment);
  }

  bytes(): number {
    return this.#totalBytes;
  }

  failure(): string | undefined {
    return this.#isFull(this.#refusedBytes) ? 'full' : this.#failure;
  }

  /** Whether so many bytes more are too many, for the log or for its disk. */
  #isFull(bytes: number): boolean {
    const coming = this.#appends.bytes + this.#largeAppends.bytes + bytes;
    return this.#totalBytes + coming > this.#options.bytesMax || !this.#room.has(coming);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probing);
    while (this.#isWorking || this.#isWorkingLarge || this.#coming?.state === 'pending') {
      await Promise.allSettled([this.#working, this.#workingLarge, this.#coming?.segment]);
    }
    await this.#removing;
    await this.#open?.file.close();
    this.#open = undefined;
    // Empty: the next process removes it.
    const unused = await this.#coming?.segment.catch(() => undefined);
    await unused?.file.close();
    this.#coming = undefined;
  }

  // Work: one loop, so that nothing below runs twice at once but the making of the coming segment. Large appends have
  // a loop of their own, which touches nothing of the open segment.

  #enqueue(queue: AppendQueue, work: Omit<Waiting, 'resolve' | 'reject'>): Promise<number> {
    const { frames, bytes, rows, organization } = work;
    return new Promise((resolve, reject) => {
      // Member by member: spreading the object takes a fifth of an append.
      queue.push({ frames, bytes, rows, organization, resolve, reject });
      this.#wake();
    });
  }

  #wake(): void {
    if (!this.#isWorkingLarge && this.#largeAppends.length > 0) {
      this.#isWorkingLarge = true;
      this.#workingLarge = this.#workLarge();
    }
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#working = this.#work();
  }

  async #work(): Promise<void> {
    while (this.#appends.length + this.#notes.length > 0 || this.#mayRotate()) {
      if (this.#appends.length > 0) {
        const group = this.#appends.takeGroup();
        await this.#settle(group, () => this.#write(group));
      }
      if (this.#mayRotate()) await this.#settle(this.#seals.takeAll(), () => this.#seal());
      // With appends that wait, the manifest goes along with them.
      if (this.#notes.length > 0 && this.#appends.length === 0) {
        await this.#settle(this.#notes.takeAll(), () => this.#write([]));
      }
    }
    this.#isWorking = false;
  }

  async #workLarge(): Promise<void> {
    for (let next = this.#largeAppends.first(); next !== undefined; next = this.#largeAppends.first()) {
      const large = next;
      await this.#settle([large], () => this.#writeLarge(large));
      // Its bytes count until it is done.
      this.#largeAppends.shift();
    }
    this.#isWorkingLarge = false;
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

  /** Resolves once a manifest has told what it must tell by now. */
  async #note(): Promise<void> {
    // What it would tell is found out by the next process, with doubt.
    if (this.#closed) return;
    await this.#enqueue(this.#notes, { frames: [], bytes: 0, rows: 0 });
  }

  async #seal(): Promise<number> {
    const { number } = await this.#rotate();
    if (this.#appends.length === 0) await this.#write([]);
    return number;
  }

  /** Writes a group, and before it a manifest where one is due. Returns the segment that they are in. */
  async #write(group: readonly Waiting[]): Promise<number> {
    let segment = this.#open ?? (await this.#rotate());
    const rows = group.reduce((sum, waiting) => sum + waiting.rows, 0);
    const isOverfull = segment.bytes >= this.#overfullBytes || segment.rows + rows > rowsPerSegmentMax;
    if (isOverfull) segment = await this.#rotate();
    const version = this.#changes;
    const isNoted = this.#isNoteDue(segment);
    const frames = isNoted ? [this.#manifestFrame(segment.seed, segment.bytes)] : [];
    encodeGroup(group, segment, frames);
    if (frames.length === 0) return segment.number;
    try {
      await segment.file.append(frames.flatMap(({ parts }) => parts));
    } catch (error) {
      await this.#abandon(segment, error);
      throw error;
    }
    const isFirst = segment.rows === 0 && rows > 0;
    this.#count(segment, frames, rows);
    if (isFirst) {
      segment.sinceMs = performance.now();
      this.#listener.started();
    }
    if (isNoted) {
      segment.noted = version;
      this.#removeObsolete();
    }
    return segment.number;
  }

  /** Writes a request as a segment of its own. Returns its number once later requests get higher ones. */
  async #writeLarge({ frames, organization }: Waiting): Promise<number> {
    const sinceMs = performance.now();
    const number = this.#nextNumber();
    this.#highest = number;
    this.#writingLarge = { number, organization };
    try {
      const encoded: EncodedFrame[] = [];
      const at = { seed: frameSeed(number), bytes: fileHeaderBytes, rows: 0 };
      encodeGroup([{ frames }], at, encoded);
      const parts = [encodeFileHeader(number), ...encoded.flatMap((frame) => frame.parts)];
      const file = await this.#create(number, slicesOf(parts, limits.walSliceBytesMax));
      await this.#closeFile(file);
      const bytes = fileHeaderBytes + encoded.reduce((sum, frame) => sum + frame.bytes, 0);
      const checksum = encoded.reduce((before, { sum }) => chainSum(before, sum), 0);
      this.#totalBytes += bytes;
      this.#newestLarge = number;
      this.#addSealed(
        { number, rows: rowsOf(frames), bytes, checksum, sinceMs },
        { isLarge: true, organization },
      );
    } finally {
      this.#writingLarge = undefined;
    }
    await this.#pass(number);
    return number;
  }

  /** Opens a segment with a higher number. It is no fault of this one, which is durable, if that fails. */
  async #pass(number: number): Promise<void> {
    try {
      while (!this.#closed && (this.#open?.number ?? 0) < number) await this.seal();
    } catch (error) {
      this.#log.warn(
        { segment: number, ...errorFacts(error) },
        'no segment after a large one could be opened yet',
      );
    }
  }

  #count(segment: OpenSegment, frames: readonly EncodedFrame[], rows: number): void {
    const bytes = frames.reduce((sum, frame) => sum + frame.bytes, 0);
    this.#totalBytes += bytes;
    segment.bytes += bytes;
    segment.rows += rows;
    segment.checksum = frames.reduce((checksum, { sum }) => chainSum(checksum, sum), segment.checksum);
  }

  /** Seals are told at once. Releases are when they are a quarter of what waits: a manifest names all of that. */
  #isNoteDue({ noted }: OpenSegment): boolean {
    if (noted < this.#toNote) return true;
    const untold = [...this.#obsolete.values()].filter(({ change }) => change > noted).length;
    return untold > 0 && untold * 4 >= this.#sealed.length;
  }

  /** What is needed now. The newest of what waits, where there is more than a manifest names. */
  #manifestFrame(seed: number, durableBytes: number, open?: OpenSegment): EncodedFrame {
    const entries: ManifestEntry[] = this.#sealed
      .slice(-limits.walManifestSegmentsMax)
      .map(({ number, sealed: { bytes, rows, checksum } }) => ({
        number,
        bytes,
        rows,
        checksum,
        isOpen: false,
      }));
    if (open !== undefined && open.rows > 0) entries.push({ ...open, isOpen: true });
    return encodeManifestFrame(encodeManifest({ version: this.#changes, entries }), seed, durableBytes);
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
    // Its manifest may be the last one: it stays until there is a newer one.
    if (segment.rows === 0) this.#dispose(segment);
  }

  // Segments.

  #nextNumber(): number {
    return nextSegmentNumber(this.#options.nowMs(), this.#options.writer, this.#highest);
  }

  async #begin(number: number): Promise<OpenSegment> {
    this.#highest = number;
    const begunMs = this.#passedMs();
    const seed = frameSeed(number);
    const noted = this.#changes;
    const manifest = this.#manifestFrame(seed, fileHeaderBytes, this.#open);
    const file = await this.#create(number, [[encodeFileHeader(number), ...manifest.parts]]);
    const bytes = fileHeaderBytes + manifest.bytes;
    const checksum = chainSum(0, manifest.sum);
    return { number, file, seed, begunMs, bytes, rows: 0, checksum, noted, sinceMs: 0 };
  }

  /**
   * Makes the file of a segment, one append a slice. It has its name once it is whole, so one with that name and
   * without a header is damaged.
   */
  async #create(number: number, slices: Iterable<readonly Uint8Array[]>): Promise<LogFile> {
    const change = this.#changes;
    const name = segmentName(number);
    const unfinished = `${name}${unfinishedEnding}`;
    const file = await this.#files.create(unfinished);
    try {
      for (const slice of slices) await file.append(slice);
      await this.#files.rename(unfinished, name);
      await this.#files.syncDirectory();
    } catch (error) {
      await this.#closeFile(file);
      // Nothing needs what there is of it; which name that has nobody knows.
      for (const left of [unfinished, name]) this.#obsolete.set(left, { change, bytes: 0 });
      // At once: a disk that is full for hours must not collect one for each attempt.
      await this.#remove([unfinished, name]);
      throw error;
    }
    this.#newest = Math.max(this.#newest, number);
    return file;
  }

  /** The segment that takes appends from now on. */
  #adopt(segment: OpenSegment): void {
    this.#open = segment;
    this.#totalBytes += segment.bytes;
    this.#removeObsolete();
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
    if (old !== undefined && old.rows === 0) {
      await this.#closeFile(old.file);
      this.#dispose(old);
    }
    this.#adopt(next);
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
    if (open === undefined || (open.rows === 0 && !this.#isStale())) return true;
    this.#coming ??= this.#prepare();
    return this.#coming.state !== 'pending';
  }

  /** True for an open segment that is empty and has been for a while, or is not the newest. */
  #isStale(): boolean {
    if (this.#closed || this.#open === undefined || this.#open.rows > 0) return false;
    if (this.#open.number < this.#newestLarge) return true;
    return this.#passedMs() - this.#open.begunMs > limits.walNumberAgeMsMax;
  }

  #passedMs(): number {
    return this.#options.passedMs?.() ?? performance.now();
  }

  #addSealed(
    { number, rows, bytes, checksum, sinceMs }: Sealing,
    content: Pick<SealedSegment, 'isLarge' | 'organization'> = { isLarge: false },
  ): void {
    const sealed = { rows, bytes, checksum };
    const facts = { number, rows, bytes, sealed, sinceMs, ...content };
    this.#sealed.push({ ...facts, isDamaged: false, recovered: false });
    this.#changes += 1;
    this.#toNote = this.#changes;
    this.#listener.sealed();
  }

  #forget(segment: SealedSegment): void {
    this.#sealed = this.#sealed.filter((other) => other.number !== segment.number);
    this.#totalBytes -= segment.bytes;
    this.#changes += 1;
  }

  /** The file of a segment without rows goes once no manifest of its own is the last. */
  #dispose({ number, noted, bytes }: OpenSegment): void {
    this.#obsolete.set(segmentName(number), { change: noted, bytes });
  }

  /**
   * Numbers rise from the highest one on disk, so a segment stays until a newer one is there: else its number, or one
   * that was said to be settled, could come again after a restart with the clock set back.
   */
  async #outlive(segment: SealedSegment): Promise<void> {
    while (!this.#closed && segment.number >= this.#newest) await this.seal();
  }

  /** Removes what the open segment's manifest allows; what cannot be removed now is tried again after the next. */
  #removeObsolete(): void {
    const noted = this.#open?.noted ?? 0;
    const open = this.#open?.number ?? 0;
    const names = [...this.#obsolete]
      .filter(([name, { change }]) => change <= noted && (segmentOfName(name) ?? 0) < open)
      .map(([name]) => name);
    if (names.length > 0) this.#removing = this.#removing.then(() => this.#remove(names));
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
      this.#obsolete.delete(name);
      this.#totalBytes -= file.bytes;
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

/** Adds the frames of a group as they are appended to a segment. */
function encodeGroup(
  group: readonly Pick<Waiting, 'frames'>[],
  segment: Pick<OpenSegment, 'seed' | 'bytes' | 'rows'>,
  encoded: EncodedFrame[],
): void {
  const { seed, bytes: durableBytes } = segment;
  let firstRow = segment.rows;
  for (const { frames } of group) {
    for (const [index, frame] of frames.entries()) {
      const following = frames.length - 1 - index;
      encoded.push(encodeFrame(frame, { seed, firstRow, following, durableBytes }));
      firstRow += frame.rows;
    }
  }
}

/** The same bytes in slices of at most so many: what else the disk has to sync goes in between. */
function* slicesOf(parts: readonly Uint8Array[], bytesMax: number): Generator<readonly Uint8Array[]> {
  let slice: Uint8Array[] = [];
  let room = bytesMax;
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      const piece = part.subarray(from, from + room);
      slice.push(piece);
      from += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield slice;
      slice = [];
      room = bytesMax;
    }
  }
  if (slice.length > 0) yield slice;
}
