import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import type { SegmentContent } from './segment.ts';
import type { DamageReports } from './recovery.ts';
import { encodeSeqColumn, segmentSeqRange } from './sequence.ts';
import type { SealedSegment } from './sealed-segments.ts';
import type { Wal } from './wal.ts';

/** A segment as the engine gets it: the body of one INSERT in Native format. */
export interface SegmentInsert {
  readonly number: number;
  readonly rows: number;
  /** First and last `seq` that its rows can have, decimal. */
  readonly seq: { readonly first: string; readonly last: string };
  readonly body: readonly Uint8Array[];
  /** True when an earlier attempt may have stored some or all of it: the table must be asked first. */
  readonly doubtful: boolean;
  /** True when rows of it cannot be read any more, that an earlier attempt may have stored. */
  readonly isDamaged: boolean;
}

/**
 * Where segments go. `stored`: every row is in the table, once. `refused`: the engine will not take this content
 * however often it is sent. A rejection means: not now, and whether it took effect is unknown.
 */
export type SegmentSink = (insert: SegmentInsert) => Promise<'stored' | 'refused'>;

export interface BatcherOptions {
  readonly wal: Wal;
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
  /** Of the oldest rows; 0 when there are none. */
  readonly waitingMs: number;
  readonly bytes: number;
}

export interface Batcher {
  /** Seals what is open and waits until every segment is in the engine; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean>;
  stop(): void;
  /** What waits for the engine and has not failed: all, or what large requests are no part of. */
  backlog(of: 'all' | 'small'): Backlog;
  counts(): { stored: number; refused: number; retries: number; inFlight: number };
}

/**
 * Sends sealed segments to the engine, oldest first, a few at a time, for ever until each is stored or refused. Those
 * of one large request go one at a time, and smaller ones past them.
 */
export function startBatcher(options: BatcherOptions): Batcher {
  const { wal, sink, log } = options;
  const taken = new Set<number>();
  const takenLarge = new Set<number>();
  /** Of those, the ones that an attempt has failed for. */
  const failing = new Set<number>();
  const counts = { stored: 0, refused: 0, retries: 0 };
  let timer: NodeJS.Timeout | undefined;
  let isOverdue = false;
  const stopping = new AbortController();
  let waiters: (() => void)[] = [];

  /** Whether a sealed segment waits for one that is under way, which a new one would wait for, too. */
  const untaken = (): boolean => wal.sealed().some(({ number, isLarge }) => !isLarge && !taken.has(number));

  function seal(): void {
    timer = undefined;
    // Another one would wait behind that: the open segment grows instead, as one INSERT is cheaper than two.
    isOverdue = untaken();
    if (isOverdue) return arm();
    wal.seal().catch((error: unknown) => {
      log.warn(errorFacts(error), 'the open segment could not be sealed yet');
      arm();
    });
  }

  function arm(): void {
    if (!stopping.signal.aborted) timer ??= setTimeout(seal, options.flushIntervalMs);
  }

  const isLargeLeft = (): boolean => takenLarge.size < limits.largeSegmentsInFlightMax;

  function pump(): void {
    for (const segment of wal.sealed()) {
      if (stopping.signal.aborted || taken.size >= limits.segmentsInFlightMax) return;
      if (taken.has(segment.number) || (segment.isLarge && !isLargeLeft())) continue;
      taken.add(segment.number);
      if (segment.isLarge) takenLarge.add(segment.number);
      void deliver(segment);
    }
  }

  /** False once the log has let go of it, even if that ended in an error: there is nothing left to send. */
  function waits(segment: SealedSegment): boolean {
    return wal.sealed().some(({ number }) => number === segment.number);
  }

  async function deliver(segment: SealedSegment): Promise<void> {
    let delayMs: number = baseLimits.retryDelayMsMin;
    let doubtful = segment.recovered;
    let tries = 0;
    while (!stopping.signal.aborted && waits(segment)) {
      try {
        await attempt(segment, doubtful, tries);
        break;
      } catch (error) {
        log.warn(
          { segment: segment.number, rows: segment.rows, ...errorFacts(error) },
          'a segment waits for the engine',
        );
        counts.retries += 1;
        failing.add(segment.number);
        tries += 1;
        doubtful = true;
      }
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, { signal: stopping.signal }).catch(
        onlyAbort,
      );
      delayMs = Math.min(delayMs * 2, limits.retryDelayMsMax);
    }
    taken.delete(segment.number);
    takenLarge.delete(segment.number);
    failing.delete(segment.number);
    pump();
    if (isOverdue && !untaken() && !stopping.signal.aborted) {
      clearTimeout(timer);
      seal();
    }
    if (wal.sealed().length === 0) {
      for (const wake of waiters) wake();
      waiters = [];
    }
  }

  async function attempt(segment: SealedSegment, doubtful: boolean, tries: number): Promise<void> {
    const content = await readable(segment, tries);
    if (content === undefined) return;
    const damaged = content.rows !== segment.rows;
    // A fault in reading may pass; damage stays, and then the rest must not wait for it.
    if (damaged && tries < limits.damagedSegmentTries)
      throw new Error('the segment reads back with rows missing');
    if (damaged) reportLoss(segment, content);
    const insert = {
      number: segment.number,
      rows: content.rows,
      seq: segmentSeqRange(segment.number),
      doubtful,
      isDamaged: damaged || segment.isDamaged,
    };
    const began = performance.now();
    const outcome = await sink({ ...insert, body: insertBody(segment.number, content) });
    const ms = performance.now() - began;
    await options.keepNotes(content.frames.map(({ notes }) => notes).filter(({ length }) => length > 0));
    if (damaged) {
      await wal.quarantine(segment, 'damaged');
    } else if (outcome === 'refused') {
      const facts = { segment: segment.number, rows: segment.rows };
      log.error(facts, 'the engine refuses the content of a segment; it was set aside in the log folder');
      await wal.quarantine(segment, 'refused');
      counts.refused += 1;
    } else {
      await wal.release(segment);
      counts.stored += 1;
      options.stored(segment.rows, ms);
    }
  }

  /** Undefined for a segment that was given up: its file is gone, or the disk cannot read it, again and again. */
  async function readable(segment: SealedSegment, tries: number): Promise<SegmentContent | undefined> {
    try {
      return await wal.read(segment);
    } catch (error) {
      const { code } = errorFacts(error);
      if (tries < limits.damagedSegmentTries || (code !== 'ENOENT' && code !== 'EIO')) throw error;
      if (code === 'ENOENT') {
        await wal.reportMissing(segment);
      } else {
        reportLoss(segment, { frames: [], rows: 0, damage: [{ from: 0, to: segment.bytes }] });
        await wal.quarantine(segment, 'damaged');
      }
      return undefined;
    }
  }

  function reportLoss({ number, rows }: SealedSegment, content: SegmentContent): void {
    const facts = { segment: number, rowsWritten: rows, rowsRead: content.rows, ranges: content.damage };
    log.error(facts, 'a segment is damaged on disk: what is intact was sent, the file stays as evidence');
    const ranges = content.damage.map(({ from, to }) => `bytes ${from} to ${to}`).join(', ');
    const detail = `${ranges} damaged, ${content.rows} of ${rows} events are intact`;
    options.damage.report({ kind: 'log_segment', id: String(number), detail });
  }

  wal.onChange({ sealed: pump, started: arm });
  pump();
  return {
    async flush(timeoutMs) {
      const timeout = sleep(timeoutMs, false, { ref: false });
      const sent = wal.seal().then(async () => {
        if (wal.sealed().length > 0) await new Promise<void>((resolve) => waiters.push(resolve));
        return true;
      });
      return Promise.race([sent, timeout]);
    },
    stop() {
      clearTimeout(timer);
      stopping.abort();
    },
    backlog(of) {
      const larges = of === 'all' ? [] : wal.sealed().filter(({ isLarge }) => isLarge);
      const bytes = wal.bytes() - larges.reduce((sum, large) => sum + large.bytes, 0);
      const without = new Set([...failing, ...larges.map(({ number }) => number)]);
      return { waitingMs: wal.waitingMs(without), bytes };
    },
    counts: () => ({ ...counts, inFlight: taken.size }),
  };
}

function onlyAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}

/** Each frame's block, then the values of its last column. */
function insertBody(segment: number, content: SegmentContent): Uint8Array[] {
  return content.frames.flatMap(({ payload, firstRow, rows }) => [
    payload,
    encodeSeqColumn(segment, firstRow, rows),
  ]);
}
