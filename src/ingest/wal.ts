import { isDiskFull } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { DiskHealth, unavailable } from './disk-health.ts';
import type { LogFiles } from './files.ts';
import { type Append, framesBytesMax, GroupCommit, rowsOf } from './group-commit.ts';
import { type LargeAppend, LargeSegments } from './large-segments.ts';
import { limits } from './limits.ts';
import { LogHead } from './log-head.ts';
import { type EventsOf, type KeptFree, LogRoom, noneKeptFree } from './log-room.ts';
import { type DamageReports, noteMissing, type Recovered, Recovery } from './recovery.ts';
import { Rotation } from './rotation.ts';
import { type SealedSegment, SealedSegments } from './sealed-segments.ts';
import { SegmentFiles } from './segment-files.ts';
import { readIntact } from './segment-reader.ts';
import { decodeSegment, evidenceName, type FrameInput, type SegmentContent, segmentName } from './segment.ts';
import { nextSegmentNumber, rowsPerSegmentMax } from '../base/events/sequence.ts';

/** A segment takes appends until the next is there, up to twice its size, but no more than a read takes. */
const walOverfullBytesMax = 1024 ** 3;

export interface WalOptions {
  readonly files: LogFiles;
  readonly log: Logger;
  /** Bytes at which the open segment is sealed. */
  readonly segmentBytes: number;
  /** Bytes of all segments together above which appends are refused. */
  readonly bytesMax: number;
  /** An append of so many bytes gets a segment of its own; `walLargeAppendBytesMin` where it is left out. */
  readonly largeBytes?: number;
  /** Bytes of the disk that appends leave free; none where it is left out. */
  readonly keepFreeBytes?: KeptFree;
  /** Unix milliseconds, which are in the names of segments; the clock may be set. */
  readonly nowMs: () => number;
  readonly damage: DamageReports;
  /** There was a log here before, whatever is left of it. */
  readonly isExpected?: boolean;
}

/**
 * The write-ahead log. One segment is open and takes appends; its successor is begun ahead of need; sealed ones wait
 * for the engine.
 *
 *     sealed sealed sealed  open  (successor)
 *       └──────┴──────┴──────┘ its last manifest names these: see manifest.ts
 *
 * A large request has a segment of its own, which is written beside the open one and is sealed when it is whole: so
 * neither the acknowledgement of smaller ones nor their INSERT waits for it. Its number is above that of the segment
 * that was open then. Numbers must rise from the highest on disk, so it is acknowledged once a newer one is open.
 *
 * A manifest that tells of a seal or a release is written into the open segment: with the next appends, or by itself
 * when there are none. A file is removed once a manifest without it is durable, so what is missing at a start is lost,
 * and recovery tells it. The newest segment, which has the manifest, is known outside of the folder: see log-head.ts.
 */
export class Wal {
  /** The last segment that earlier processes left; 0 when there is none. */
  readonly lastRecovered: number;
  readonly #options: WalOptions;
  readonly #log: Logger;
  readonly #head: LogHead;
  readonly #files: SegmentFiles;
  readonly #sealed: SealedSegments;
  readonly #large: LargeSegments;
  readonly #rotation: Rotation;
  readonly #commits: GroupCommit;
  readonly #room: LogRoom;
  readonly #health: DiskHealth;
  /** A segment takes appends until its successor is there, but not beyond this. */
  readonly #overfullBytes: number;
  /** A seal that waits for the successor. */
  #sealing: Promise<void> | undefined;
  /** No number that is taken from now on is this or below. */
  #highest: number;
  #isClosed = false;
  #started = (): void => {};

  private constructor(options: WalOptions, recovered: Recovered) {
    const { files, log, bytesMax, keepFreeBytes = noneKeptFree } = options;
    const { segmentBytes } = options;
    this.#overfullBytes = Math.max(segmentBytes, Math.min(segmentBytes * 2, walOverfullBytesMax));
    this.#options = options;
    this.#log = log;
    this.lastRecovered = recovered.highest;
    this.#head = new LogHead(files.head, log);
    this.#files = new SegmentFiles(files, log, recovered.highest, this.#head);
    for (const name of recovered.empty) this.#files.discard(name, 0, 0);
    this.#sealed = new SealedSegments(recovered.segments, recovered.manifestVersion);
    this.#highest = recovered.highest;
    const nextNumber = (): number => {
      this.#highest = nextSegmentNumber(options.nowMs(), 0, this.#highest);
      return this.#highest;
    };
    const parts = { files: this.#files, sealed: this.#sealed, nextNumber };
    this.#large = new LargeSegments(parts);
    this.#rotation = new Rotation({ ...parts, large: this.#large, log });
    this.#commits = new GroupCommit((group) => this.#health.guard(() => this.#write(group)));
    this.#room = new LogRoom({ files, log, bytesMax, keepFreeBytes });
    this.#health = new DiskHealth(log, () => this.seal());
  }

  /** Opens the log: what an earlier process left becomes sealed segments, and a new open segment is begun. */
  static async open(options: WalOptions): Promise<Wal> {
    const recovered = await new Recovery(options).run();
    const wal = new Wal(options, recovered);
    await wal.#room.look();
    await wal.#beginFirst();
    await wal.#files.removed();
    return wal;
  }

  /**
   * Appends frames to the open segment and resolves with its number when they survive a power cut. Concurrent calls
   * share one sync; a large one has a segment of its own, and nobody waits for it. `organization` is the only one
   * whose events are in them, where there is one. Rejects with a 503 Problem, having stored nothing, when the log is
   * full for events of this kind or the disk fails.
   */
  append(frames: readonly FrameInput[], organization?: string, of: EventsOf = 'producers'): Promise<number> {
    if (this.#isClosed) return Promise.reject(unavailable('The server is shutting down.'));
    const bytes = framesBytesMax(frames);
    const rows = rowsOf(frames);
    if (rows > rowsPerSegmentMax) {
      const why = `${rows} rows in one append: a segment numbers at most ${rowsPerSegmentMax}`;
      return Promise.reject(new Error(why));
    }
    if (!this.#room.admits(bytes, this.bytes(), this.#waitingBytes(), of)) {
      return Promise.reject(unavailable('The write-ahead log is full; try again later.'));
    }
    const isLarge = bytes >= (this.#options.largeBytes ?? limits.walLargeAppendBytesMin);
    if (isLarge) return this.#appendLarge({ frames, bytes, organization });
    return this.#commits.append({ frames, bytes, rows });
  }

  /**
   * Closes the open segment if it holds rows; it is then in `sealed()`. Appends go on into it until its successor is
   * on disk, as making a file durable waits for whatever else the disk has to sync.
   */
  seal(): Promise<void> {
    this.#sealing ??= this.#rotation
      .prepare()
      .then(() => this.#commits.exclusively(() => this.#health.guard(() => this.#seal())));
    return this.#sealing;
  }

  sealed(): readonly SealedSegment[] {
    return this.#sealed.list;
  }

  /** For how long the oldest rows that are not in the engine have waited, some segments aside; 0 when there are none. */
  waitingMs(without?: ReadonlySet<number>): number {
    const now = performance.now();
    const { open } = this.#rotation;
    let since = open?.isEmpty === false ? open.sinceMs : now;
    for (const { number, sinceMs } of this.#sealed.list) {
      if (without?.has(number) !== true) since = Math.min(since, sinceMs);
    }
    return now - since;
  }

  /** Called after a segment was sealed, and after the first append to an empty one. */
  onChange(listener: { sealed(): void; started(): void }): void {
    this.#sealed.onAdd(listener.sealed);
    this.#started = listener.started;
  }

  /** What can be read of a sealed segment, every sum checked. */
  async read(segment: SealedSegment): Promise<SegmentContent> {
    const { files } = this.#options;
    const intact = await readIntact(files, segment);
    if (intact !== undefined) return intact;
    return decodeSegment(await files.read(segmentName(segment.number)), segment.number, segment.bytes);
  }

  /** Lets go of a segment that has reached the engine: its file is deleted, or kept as evidence if it is damaged. */
  async release(segment: SealedSegment): Promise<void> {
    if (segment.isDamaged) return this.quarantine(segment, 'damaged');
    // Gone for this process, whatever the disk says: a file that stays is sent again after a restart, with doubt.
    this.#sealed.remove(segment);
    this.#files.discard(segmentName(segment.number), this.#sealed.version, segment.bytes);
    await this.#writeDueManifest();
    await this.#files.removed();
  }

  /** Keeps a segment as `<number>.refused` (by the engine, for its content) or `.damaged`, outside of the log. */
  async quarantine(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void> {
    await this.#outlive(segment);
    // While the log closes it stays what it is: the next start finds it again, and its number cannot come twice.
    if (this.#isClosed) return;
    await this.#files.setAside(segmentName(segment.number), evidenceName(segment.number, why), () =>
      this.#sealed.remove(segment),
    );
    await this.#writeDueManifest();
  }

  /** Gives up a segment whose file is gone, and reports that. */
  async reportMissing(segment: SealedSegment): Promise<void> {
    this.#sealed.remove(segment);
    await noteMissing(segment, this.#options);
    await this.#writeDueManifest();
  }

  /** Whether some segment up to this one has rows that wait for the engine. */
  isWaiting(through: number): boolean {
    const { open } = this.#rotation;
    const isOpen = open?.isEmpty === false && open.number <= through;
    return isOpen || this.#sealed.list.some(({ number }) => number <= through);
  }

  /** Whether the file of a segment is there, or could be there again after a power cut. */
  hasFile(number: number): boolean {
    return this.#sealed.list.some((one) => one.number === number) || this.#files.mayHave(segmentName(number));
  }

  bytes(): number {
    return this.#sealed.bytes + this.#files.obsoleteBytes + (this.#rotation.open?.facts.bytes ?? 0);
  }

  /** Undefined while appends work; otherwise why they do not. */
  failure(of: EventsOf = 'producers'): string | undefined {
    return this.#room.isFull(this.bytes(), this.#waitingBytes(), of) ? 'full' : this.#health.failure;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#health.stop();
    this.#rotation.stop();
    await this.#large.idle();
    await this.#sealing?.catch(() => undefined);
    await this.#commits.idle();
    await this.#files.removed();
    const { open } = this.#rotation;
    const waiting = this.#sealed.list.length;
    await this.#head.close({ waiting, open: open && { number: open.number, ...open.facts } });
    await this.#rotation.close();
  }

  #waitingBytes(): number {
    return this.#commits.waitingBytes + this.#large.waitingBytes;
  }

  /** The first segment of this process. None on a full disk, which is no reason not to serve what is stored. */
  async #beginFirst(): Promise<void> {
    try {
      await this.#rotation.rotate();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      const facts = errorFacts(error);
      this.#health.fail(facts.code ?? 'full');
      const words = 'the disk is full: the write-ahead log takes nothing until there is room; reads go on';
      this.#log.error(facts, words);
    }
  }

  /** Writes a group, and before it a manifest where one is due. Returns the segment that they are in. */
  async #write(group: readonly Append[]): Promise<number> {
    const rows = group.reduce((sum, append) => sum + append.rows, 0);
    let segment = this.#rotation.open;
    if (segment === undefined || (rows > 0 && this.#rotation.isStale))
      segment = await this.#rotation.rotate();
    const isOverfull = segment.facts.bytes >= this.#overfullBytes;
    if (isOverfull || segment.facts.rows + rows > rowsPerSegmentMax) segment = await this.#rotation.rotate();
    const { isEmpty } = segment;
    const isDue = segment.manifestVersion < this.#sealed.version;
    if (group.length === 0 && !isDue) return segment.number;
    try {
      await segment.append(group, isDue ? this.#sealed.manifest() : undefined);
    } catch (error) {
      await this.#rotation.abandon(segment, error);
      throw error;
    }
    if (isEmpty && rows > 0) this.#started();
    if (isDue) this.#files.removeObsolete(segment);
    const isFull = rows > 0 && segment.facts.bytes >= this.#options.segmentBytes;
    // A failure shows in `failure()`, and with the next append.
    if (isFull && !this.#isClosed) this.seal().catch(() => undefined);
    return segment.number;
  }

  /** Writes the manifest of a change; the appends that wait go along with it. */
  async #writeDueManifest(): Promise<void> {
    // While the log closes: what the manifest would tell is found out by the next process, with doubt.
    if (!this.#isClosed) await this.#commits.flush();
  }

  #appendLarge(append: LargeAppend): Promise<number> {
    const write = async (): Promise<number> => {
      const number = await this.#large.write(append);
      await this.#pass(number);
      return number;
    };
    return this.#large.inTurn(append, () => this.#health.guard(write));
  }

  /** Opens a segment with a higher number. It is no fault of this one, which is durable, if that fails. */
  async #pass(number: number): Promise<void> {
    try {
      while (!this.#isClosed && (this.#rotation.open?.number ?? 0) < number) await this.seal();
    } catch (error) {
      const facts = { segment: number, ...errorFacts(error) };
      this.#log.warn(facts, 'no segment after a large one could be opened yet');
    }
  }

  /**
   * Numbers rise from the highest one on disk, so a segment stays until a newer one is there: else its number could
   * come again after a restart with the clock set back.
   */
  async #outlive(segment: SealedSegment): Promise<void> {
    while (!this.#isClosed && segment.number >= this.#files.newest) await this.seal();
  }

  async #seal(): Promise<void> {
    this.#sealing = undefined;
    await this.#rotation.rotate();
    // With appends that wait, the manifest goes along with them.
    if (!this.#commits.isWaiting) await this.#write([]);
  }
}
