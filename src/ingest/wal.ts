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

/** A file of this size can still be read. */
const walOverfullBytesMax = 1024 ** 3;

export interface WalOptions {
  readonly files: LogFiles;
  readonly log: Logger;
  readonly segmentBytes: number;
  readonly bytesMax: number;
  readonly largeBytes?: number;
  readonly keepFreeBytes?: KeptFree;
  /** Unix ms, for names of segments; may be set back. */
  readonly nowMs: () => number;
  readonly damage: DamageReports;
  readonly isExpected?: boolean;
}

/**
 * The write-ahead log. One segment is open and takes appends; its successor is begun ahead of need; sealed
 * ones wait for the engine. The manifest in the open segment names them (manifest.ts):
 *
 *     sealed sealed sealed  open  (successor)
 *       └──────┴──────┴──────┘
 *
 * A large request has a segment of its own, so that smaller ones do not wait for it. Numbers must rise, so it is acknowledged once
 * a newer segment is open. A changed manifest goes with the next appends, or alone. A file is removed once a manifest without it is
 * durable. `wal-head` names the newest segment (log-head.ts).
 */
export class Wal {
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
  readonly #overfullBytes: number;
  #sealing: Promise<void> | undefined;
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

  static async open(options: WalOptions): Promise<Wal> {
    const recovered = await new Recovery(options).run();
    const wal = new Wal(options, recovered);
    await wal.#room.look();
    await wal.#beginFirst();
    await wal.#files.removed();
    return wal;
  }

  /**
   * Resolves with the segment once the frames survive a power cut. Concurrent calls share one sync. `organization`: if all events
   * are of it. Rejects with a 503 Problem, without storing, if the log is full or the disk fails.
   */
  append(frames: readonly FrameInput[], organization?: string, of: EventsOf = 'producers'): Promise<number> {
    if (this.#isClosed) return Promise.reject(unavailable('The server is shutting down.'));
    const bytes = framesBytesMax(frames);
    const rows = rowsOf(frames);
    if (rows > rowsPerSegmentMax) {
      const why = `An append of ${rows} rows exceeds the ${rowsPerSegmentMax} of a segment`;
      return Promise.reject(new Error(why));
    }
    if (!this.#room.admits(bytes, this.bytes(), this.#waitingBytes(), of)) {
      return Promise.reject(unavailable('The write-ahead log is full; try again later.'));
    }
    const isLarge = bytes >= (this.#options.largeBytes ?? limits.walLargeAppendBytesMin);
    if (isLarge) return this.#appendLarge({ frames, bytes, organization });
    return this.#commits.append({ frames, bytes, rows });
  }

  /** Seals the open segment if it has rows. It takes appends until its successor is on disk, as a sync waits for other writes. */
  seal(): Promise<void> {
    this.#sealing ??= this.#rotation
      .prepare()
      .then(() => this.#commits.exclusively(() => this.#health.guard(() => this.#seal())));
    return this.#sealing;
  }

  sealed(): readonly SealedSegment[] {
    return this.#sealed.list;
  }

  /** Age of the oldest rows that are not in the engine, except in `without`; 0 if there are none. */
  waitingMs(without?: ReadonlySet<number>): number {
    const now = performance.now();
    const { open } = this.#rotation;
    let since = open?.isEmpty === false ? open.sinceMs : now;
    for (const { number, sinceMs } of this.#sealed.list) {
      if (without?.has(number) !== true) since = Math.min(since, sinceMs);
    }
    return now - since;
  }

  onChange(listener: { sealed(): void; started(): void }): void {
    this.#sealed.onAdd(listener.sealed);
    this.#started = listener.started;
  }

  /** Verifies every checksum. */
  async read(segment: SealedSegment): Promise<SegmentContent> {
    const { files } = this.#options;
    const intact = await readIntact(files, segment);
    if (intact !== undefined) return intact;
    return decodeSegment(await files.read(segmentName(segment.number)), segment.number, segment.bytes);
  }

  /** Deletes the file of a stored segment, or keeps it as evidence if damaged. */
  async release(segment: SealedSegment): Promise<void> {
    if (segment.isDamaged) return this.quarantine(segment, 'damaged');
    // If the file stays, the next start asks the engine whether the segment is stored.
    this.#sealed.remove(segment);
    this.#files.discard(segmentName(segment.number), this.#sealed.version, segment.bytes);
    await this.#writeDueManifest();
    await this.#files.removed();
  }

  /** Renames the segment's file to `<number>.refused` (rejected by the engine) or `.damaged`. */
  async quarantine(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void> {
    await this.#openNewerThan(segment);
    // Not while the log closes: the next start must find the segment, so that its number cannot come twice.
    if (this.#isClosed) return;
    await this.#files.setAside(segmentName(segment.number), evidenceName(segment.number, why), () =>
      this.#sealed.remove(segment),
    );
    await this.#writeDueManifest();
  }

  async reportMissing(segment: SealedSegment): Promise<void> {
    this.#sealed.remove(segment);
    await noteMissing(segment, this.#options);
    await this.#writeDueManifest();
  }

  isWaiting(through: number): boolean {
    const { open } = this.#rotation;
    const isOpen = open?.isEmpty === false && open.number <= through;
    return isOpen || this.#sealed.list.some(({ number }) => number <= through);
  }

  /** True if the segment's file exists, or may reappear after a power cut. */
  hasFile(number: number): boolean {
    return this.#sealed.list.some((one) => one.number === number) || this.#files.mayHave(segmentName(number));
  }

  bytes(): number {
    return this.#sealed.bytes + this.#files.obsoleteBytes + (this.#rotation.open?.facts.bytes ?? 0);
  }

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

  /** On a full disk the log starts without an open segment, so that reads work. */
  async #beginFirst(): Promise<void> {
    try {
      await this.#rotation.rotate();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      const facts = errorFacts(error);
      this.#health.fail(facts.code ?? 'full');
      const words =
        'The disk is full: the write-ahead log rejects events until there is room; reads continue';
      this.#log.error(facts, words);
    }
  }

  /** Writes a group, after a manifest if one is due. Returns its segment. */
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
    if (isFull && !this.#isClosed) this.seal().catch(() => undefined);
    return segment.number;
  }

  /** Writes a due manifest, with the waiting appends. */
  async #writeDueManifest(): Promise<void> {
    // While the log closes, it stays due: the next start asks the engine about these segments.
    if (!this.#isClosed) await this.#commits.flush();
  }

  #appendLarge(append: LargeAppend): Promise<number> {
    const write = async (): Promise<number> => {
      const number = await this.#large.write(append);
      await this.#openAbove(number);
      return number;
    };
    return this.#large.inTurn(append, () => this.#health.guard(write));
  }

  /** Opens a segment with a higher number. Failure here does not affect the large segment. */
  async #openAbove(number: number): Promise<void> {
    try {
      while (!this.#isClosed && (this.#rotation.open?.number ?? 0) < number) await this.seal();
    } catch (error) {
      const facts = { segment: number, ...errorFacts(error) };
      this.#log.warn(facts, 'Opening a segment after a large one failed; will retry');
    }
  }

  /** A segment stays until a newer one exists: a clock that is set back could repeat its number. */
  async #openNewerThan(segment: SealedSegment): Promise<void> {
    while (!this.#isClosed && segment.number >= this.#files.newest) await this.seal();
  }

  async #seal(): Promise<void> {
    this.#sealing = undefined;
    await this.#rotation.rotate();
    if (!this.#commits.isWaiting) await this.#write([]);
  }
}
