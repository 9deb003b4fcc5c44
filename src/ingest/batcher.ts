import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { rangesText, type SegmentContent } from './segment.ts';
import type { OrderNumbers } from './order-numbers.ts';
import type { DamageReports } from './recovery.ts';
import { encodeSeqColumn } from '../base/events/sequence.ts';
import type { SegmentInsert, SegmentSink } from '../base/events/segment-insert.ts';
import type { SealedSegment } from './sealed-segments.ts';
import type { Wal } from './wal.ts';

/** Leaves an INSERT for small segments, so that they never wait for a large one. */
const largeSegmentsInFlightMax = 1;
/** Reads of a segment before it counts as damaged. */
const damagedSegmentTries = 3;
const retryDelayMsMax = 5_000;

export interface BatcherOptions {
  readonly wal: Wal;
  readonly order: Pick<OrderNumbers, 'numbersOf' | 'take' | 'settle'>;
  readonly sink: SegmentSink;
  readonly log: Logger;
  readonly damage: DamageReports;
  readonly flushIntervalMs: number;
  stored(rows: number, ms: number): void;
  /** Called after the rows of a segment are stored and before its file is deleted. */
  keepNotes(notes: readonly Uint8Array[]): Promise<void>;
}

export interface Backlog {
  readonly waitingMs: number;
  readonly bytes: number;
}

interface InFlight {
  readonly isLarge: boolean;
  hasFailed: boolean;
}

/**
 * Seals the open segment in time and sends sealed ones, oldest first, two at a time, until each is stored or
 * refused. Segments of large requests go one at a time, and smaller ones pass them.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #inFlight = new Map<number, InFlight>();
  readonly #counts = { stored: 0, refused: 0, retries: 0 };
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** A seal is due but waits until no sealed segment waits. */
  #isOverdue = false;
  #emptied: (() => void)[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.wal.onChange({ sealed: () => this.#send(), started: () => this.#startTimer() });
    this.#send();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopping.abort();
  }

  /** Seals the open segment and waits until the engine has every segment; false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean> {
    return Promise.race([this.emptied(), sleep(timeoutMs, false, { ref: false })]);
  }

  /** Resolves once no segment waits for the engine, which may never happen under load. */
  async emptied(): Promise<true> {
    const { wal } = this.#options;
    await wal.seal();
    if (wal.sealed().length > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
    return true;
  }

  backlog(of: 'all' | 'small'): Backlog {
    const { wal } = this.#options;
    const larges = of === 'all' ? [] : wal.sealed().filter(({ isLarge }) => isLarge);
    const without = new Set(larges.map(({ number }) => number));
    for (const [number, { hasFailed }] of this.#inFlight) if (hasFailed) without.add(number);
    const bytes = wal.bytes() - larges.reduce((sum, large) => sum + large.bytes, 0);
    return { waitingMs: wal.waitingMs(without), bytes };
  }

  counts(): { stored: number; refused: number; retries: number } {
    return this.#counts;
  }

  #startTimer(): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer ??= setTimeout(() => this.#sealInTime(), this.#options.flushIntervalMs);
  }

  #sealInTime(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // The open segment grows meanwhile, as one large INSERT is cheaper than two.
    this.#isOverdue = this.#isSmallWaiting();
    if (this.#isOverdue) return this.#startTimer();
    this.#options.wal.seal().catch((error: unknown) => {
      this.#options.log.warn(errorFacts(error), 'Sealing the open segment failed; will retry');
      this.#startTimer();
    });
  }

  #isSmallWaiting(): boolean {
    const { wal } = this.#options;
    return wal.sealed().some(({ number, isLarge }) => !isLarge && !this.#inFlight.has(number));
  }

  #send(): void {
    for (const segment of this.#options.wal.sealed()) {
      if (this.#stopping.signal.aborted || this.#inFlight.size >= limits.segmentsInFlightMax) return;
      if (this.#inFlight.has(segment.number)) continue;
      const large = [...this.#inFlight.values()].filter(({ isLarge }) => isLarge).length;
      if (segment.isLarge && large >= largeSegmentsInFlightMax) continue;
      const state = { isLarge: segment.isLarge, hasFailed: false };
      this.#inFlight.set(segment.number, state);
      void this.#deliver(segment, state).then(() => this.#delivered(segment));
    }
  }

  async #deliver(segment: SealedSegment, state: InFlight): Promise<void> {
    const { signal } = this.#stopping;
    let delayMs: number = baseLimits.retryDelayMsMin;
    for (let tries = 0; !signal.aborted && this.#isWaiting(segment); tries++) {
      try {
        return await this.#attempt(segment, tries);
      } catch (error) {
        const facts = { segment: segment.number, rows: segment.rows, ...errorFacts(error) };
        this.#options.log.warn(facts, 'INSERT of a segment failed; will retry');
      }
      this.#counts.retries += 1;
      state.hasFailed = true;
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, retryDelayMsMax);
    }
  }

  #isWaiting(segment: SealedSegment): boolean {
    return this.#options.wal.sealed().some(({ number }) => number === segment.number);
  }

  #delivered({ number }: SealedSegment): void {
    this.#inFlight.delete(number);
    this.#send();
    if (this.#isOverdue && !this.#isSmallWaiting() && !this.#stopping.signal.aborted) this.#sealInTime();
    if (this.#options.wal.sealed().length > 0) return;
    for (const resolve of this.#emptied.splice(0)) resolve();
  }

  async #attempt(segment: SealedSegment, tries: number): Promise<void> {
    const { wal, order, sink, keepNotes } = this.#options;
    const content = await this.#read(segment, tries);
    if (content === undefined) return;
    const isDamaged = content.rows !== segment.rows;
    // A read error may pass; damage stays, and must not hold back the rest.
    if (isDamaged && tries < damagedSegmentTries) {
      throw new Error('The segment reads back with rows missing');
    }
    if (isDamaged) this.#reportLoss(segment, content);
    const { number: name, organization } = segment;
    const insert: SegmentInsert = {
      segment: name,
      rows: content.rows,
      earlier: order.numbersOf(name),
      isDamaged: isDamaged || segment.isDamaged,
      take: (stored) => order.take(name, organization, stored),
      body: (number) => insertBody(number, content),
    };
    const began = performance.now();
    const outcome = await sink(insert);
    const ms = performance.now() - began;
    order.settle(name);
    await keepNotes(content.frames.map(({ notes }) => notes).filter(({ length }) => length > 0));
    // After any other outcome the engine may still be reading the memory.
    if (outcome === 'stored') content.release();
    if (isDamaged) return wal.quarantine(segment, 'damaged');
    if (outcome === 'refused') return this.#refused(segment);
    await wal.release(segment);
    this.#counts.stored += 1;
    this.#options.stored(segment.rows, ms);
  }

  async #refused(segment: SealedSegment): Promise<void> {
    this.#options.log.error(
      { segment: segment.number, rows: segment.rows },
      'The engine rejected the content of a segment; its file is kept in the log folder as .refused',
    );
    await this.#options.wal.quarantine(segment, 'refused');
    const detail = `the engine rejected its content; ${segment.rows} events are only in its .refused file`;
    this.#options.damage.report({ kind: 'log_segment', id: String(segment.number), detail });
    this.#counts.refused += 1;
  }

  /** Undefined if the segment was given up: its file is missing, or unreadable after several tries. */
  async #read(segment: SealedSegment, tries: number): Promise<SegmentContent | undefined> {
    const { wal } = this.#options;
    try {
      return await wal.read(segment);
    } catch (error) {
      const { code } = errorFacts(error);
      if (tries < damagedSegmentTries || (code !== 'ENOENT' && code !== 'EIO')) throw error;
      if (code === 'ENOENT') {
        await wal.reportMissing(segment);
      } else {
        this.#reportLoss(segment, { frames: [], rows: 0, damage: [{ from: 0, to: segment.bytes }] });
        await wal.quarantine(segment, 'damaged');
      }
      return undefined;
    }
  }

  #reportLoss(
    { number, rows }: SealedSegment,
    { rows: rowsRead, damage }: Omit<SegmentContent, 'release'>,
  ): void {
    const facts = { segment: number, rowsWritten: rows, rowsRead, ranges: damage };
    const words = 'A segment is damaged on disk; intact events were sent, and the file is kept as .damaged';
    this.#options.log.error(facts, words);
    const detail = `${rangesText(damage)} damaged, ${rowsRead} of ${rows} events are intact`;
    this.#options.damage.report({ kind: 'log_segment', id: String(number), detail });
  }
}

function insertBody(number: number, content: SegmentContent): Uint8Array[] {
  return content.frames.flatMap(({ payload, firstRow, rows }) => [
    payload,
    encodeSeqColumn(number, firstRow, rows),
  ]);
}
