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

/** INSERTs of large segments at the same time: the other place is for small ones, which so never wait for a large one. */
const largeSegmentsInFlightMax = 1;
/** Times that a segment is read before it counts as damaged. */
const damagedSegmentTries = 3;
const retryDelayMsMax = 5_000;

export interface BatcherOptions {
  readonly wal: Wal;
  readonly order: Pick<OrderNumbers, 'numbersOf' | 'take' | 'settle'>;
  readonly sink: SegmentSink;
  readonly log: Logger;
  readonly damage: DamageReports;
  readonly flushIntervalMs: number;
  /** Called for each segment that has reached the engine, with how long its INSERT took. */
  stored(rows: number, ms: number): void;
  /** Called with the notes of a segment (see segment.ts) after its rows are stored and before its file is deleted. */
  keepNotes(notes: readonly Uint8Array[]): Promise<void>;
}

export interface Backlog {
  /** How long the oldest rows have waited; 0 when there are none. */
  readonly waitingMs: number;
  readonly bytes: number;
}

interface InFlight {
  readonly isLarge: boolean;
  hasFailed: boolean;
}

/**
 * Seals the open segment in time, and sends sealed ones to the engine: oldest first, a few at a time, for ever until
 * each is stored or refused. Those of one large request go one at a time, and smaller ones past them.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #inFlight = new Map<number, InFlight>();
  readonly #counts = { stored: 0, refused: 0, retries: 0 };
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** A seal is due, and waits until no sealed segment waits. */
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

  /** Seals what is open and waits until every segment is in the engine; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean> {
    return Promise.race([this.emptied(), sleep(timeoutMs, false, { ref: false })]);
  }

  /** Seals, and resolves once nothing waits for the engine: at a moment without new rows, or never. */
  async emptied(): Promise<true> {
    const { wal } = this.#options;
    await wal.seal();
    if (wal.sealed().length > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
    return true;
  }

  /** What waits for the engine and has not failed: all, or what large requests are no part of. */
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
    // Another one would wait behind that: the open segment grows instead, as one INSERT is cheaper than two.
    this.#isOverdue = this.#isSmallWaiting();
    if (this.#isOverdue) return this.#startTimer();
    this.#options.wal.seal().catch((error: unknown) => {
      this.#options.log.warn(errorFacts(error), 'the open segment could not be sealed yet');
      this.#startTimer();
    });
  }

  /** Whether a sealed segment waits for one that is in flight, which a new one would wait for, too. */
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
        this.#options.log.warn(facts, 'a segment waits for the engine');
      }
      this.#counts.retries += 1;
      state.hasFailed = true;
      // The batcher may be stopped meanwhile.
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, retryDelayMsMax);
    }
  }

  /** False once the log has let go of it, even if that ended in an error: there is nothing left to send. */
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
    // A fault in reading may pass; damage stays, and then the rest must not wait for it.
    if (isDamaged && tries < damagedSegmentTries) {
      throw new Error('the segment reads back with rows missing');
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
    // The engine has read all of it; after any other end something may still be sending it.
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
      'the engine refuses the content of a segment; it was set aside in the log folder',
    );
    await this.#options.wal.quarantine(segment, 'refused');
    const detail = `the engine cannot read its content: ${segment.rows} events are in its file only`;
    this.#options.damage.report({ kind: 'log_segment', id: String(segment.number), detail });
    this.#counts.refused += 1;
  }

  /** Undefined for a segment that was given up: its file is gone, or the disk cannot read it, again and again. */
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
    const words = 'a segment is damaged on disk: what is intact was sent, the file stays as evidence';
    this.#options.log.error(facts, words);
    const detail = `${rangesText(damage)} damaged, ${rowsRead} of ${rows} events are intact`;
    this.#options.damage.report({ kind: 'log_segment', id: String(number), detail });
  }
}

/** Each frame's block, then the values of its last column. */
function insertBody(number: number, content: SegmentContent): Uint8Array[] {
  return content.frames.flatMap(({ payload, firstRow, rows }) => [
    payload,
    encodeSeqColumn(number, firstRow, rows),
  ]);
}
