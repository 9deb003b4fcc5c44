import { availableParallelism } from 'node:os';
import type { ByteFlow } from '../base/byte-flow.ts';
import { limits } from '../base/limits.ts';
import { gauge } from '../base/metrics.ts';
import { Problem } from '../base/problem.ts';
import { EngineError } from '../storage/storage.ts';

export interface FairQueueOptions {
  /** Reads that run side by side, of one organization and of all. */
  readonly atOncePerOrganization: number;
  readonly atOnce: number;
  /** Reads that wait for a turn, of one organization and of all. */
  readonly waitingPerOrganization: number;
  readonly waiting: number;
  readonly waitMs: number;
  /** What a refused caller reads. */
  readonly refusal: string;
  readonly retryAfterSeconds: number;
}

export interface FairQueue {
  /**
   * Waits for a turn; the function returned ends it, once. Rejects with Problem `rate_limited` when too many wait
   * already or the turn does not come in time, and with EngineError `aborted` when `signal` fires first.
   */
  enter(organization: string, signal: AbortSignal): Promise<() => void>;
  /** Reads that run and that wait. */
  size(): { readonly running: number; readonly waiting: number };
}

interface Waiter {
  readonly start: () => void;
}

/** Present while the organization has a read that runs or waits. */
interface Line {
  running: number;
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>;
}

/**
 * Stands before the engine, so that an organization that asks for much waits for itself (contract: Rate limits): a
 * turn that becomes free goes to the organization that has the fewest, and among equals to the one that has waited
 * longest for one.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  /** In the order in which they last got a turn. */
  const lines = new Map<string, Line>();
  let running = 0;
  let waiting = 0;

  const tooMany = () =>
    new Problem('rate_limited', options.refusal, { retryAfterSeconds: options.retryAfterSeconds });

  const next = (): [string, Line] | undefined => {
    let best: [string, Line] | undefined;
    for (const entry of lines) {
      const [, line] = entry;
      if (line.waiters.size === 0 || line.running >= options.atOncePerOrganization) continue;
      if (best === undefined || line.running < best[1].running) best = entry;
    }
    return best;
  };

  const begin = (organization: string, line: Line): (() => void) => {
    running += 1;
    line.running += 1;
    lines.delete(organization);
    lines.set(organization, line);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      running -= 1;
      line.running -= 1;
      forget(organization, line);
      while (running < options.atOnce) {
        const found = next();
        if (found === undefined) return;
        const [first] = found[1].waiters;
        first?.start();
      }
    };
  };

  const forget = (organization: string, line: Line): void => {
    if (line.running === 0 && line.waiters.size === 0) lines.delete(organization);
  };

  const wait = (organization: string, line: Line, signal: AbortSignal) =>
    new Promise<() => void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        line.waiters.delete(waiter);
        waiting -= 1;
      };
      const giveUp = (error: Error): void => {
        leave();
        forget(organization, line);
        reject(error);
      };
      const waiter: Waiter = {
        start: () => {
          leave();
          resolve(begin(organization, line));
        },
      };
      const onAbort = (): void => giveUp(new EngineError('aborted', 'the caller ended the request'));
      const timer = setTimeout(() => giveUp(tooMany()), options.waitMs);
      signal.addEventListener('abort', onAbort, { once: true });
      line.waiters.add(waiter);
      waiting += 1;
    });

  return {
    enter: async (organization, signal) => {
      if (signal.aborted) throw new EngineError('aborted', 'the caller ended the request');
      const line = lines.get(organization) ?? { running: 0, waiters: new Set<Waiter>() };
      if (running < options.atOnce && line.running < options.atOncePerOrganization) {
        return begin(organization, line);
      }
      if (line.waiters.size >= options.waitingPerOrganization || waiting >= options.waiting) throw tooMany();
      lines.set(organization, line);
      return wait(organization, line, signal);
    },
    size: () => ({ running, waiting }),
  };
}

/**
 * The same reader, each call in its turn. A turn ends with the call, or with the stream that it answers, which
 * `streamOf` finds.
 */
export function inTurn<A extends readonly unknown[], T>(
  queue: FairQueue,
  read: (organization: string, ...rest: [...A, AbortSignal]) => Promise<T>,
  streamOf: (result: T) => Pick<ByteFlow, 'onClosed'> | undefined = () => undefined,
): (organization: string, ...rest: [...A, AbortSignal]) => Promise<T> {
  return async (organization, ...rest) => {
    const leave = await queue.enter(organization, rest[rest.length - 1] as AbortSignal);
    try {
      const result = await read(organization, ...rest);
      const stream = streamOf(result);
      if (stream === undefined) leave();
      else stream.onClosed(leave);
      return result;
    } catch (error) {
      leave();
      throw error;
    }
  };
}

/** For reads that are over soon. Half of all turns is the most for one organization. */
export function readQueue(): FairQueue {
  const atOnce = Math.max(limits.readsAtOnceMin, limits.readsAtOncePerCore * availableParallelism());
  const queue = createFairQueue({
    atOncePerOrganization: Math.ceil(atOnce / 2),
    atOnce,
    waitingPerOrganization: limits.readsWaitingPerOrganizationMax,
    waiting: limits.readsWaitingMax,
    waitMs: limits.readWaitMsMax,
    refusal: 'Too many reads of the organization wait for the database; try again later.',
    retryAfterSeconds: limits.readRetryAfterSeconds,
  });
  gauge('auditlog_reads_running', 'Reads that the engine is working on, streams aside.', [], (value) =>
    value.set(queue.size().running),
  );
  gauge('auditlog_reads_waiting', 'Reads that wait for their turn.', [], (value) =>
    value.set(queue.size().waiting),
  );
  return queue;
}

/** For exports, which last as long as their readers like: whoever finds no place comes back later. */
export function exportPlaces(): FairQueue {
  const most = limits.exportsPerOrganizationMax;
  return createFairQueue({
    atOncePerOrganization: most,
    atOnce: limits.exportsMax,
    waitingPerOrganization: 0,
    waiting: 0,
    waitMs: 0,
    refusal: `At most ${most} exports of an organization run at once; try again when one has ended.`,
    retryAfterSeconds: limits.exportRetryAfterSeconds,
  });
}

/** For streams of source events, most of which are over soon. */
export function sourceStreamPlaces(): FairQueue {
  return createFairQueue({
    atOncePerOrganization: limits.sourceStreamsPerOrganizationMax,
    atOnce: limits.sourceStreamsMax,
    waitingPerOrganization: limits.readsWaitingPerOrganizationMax,
    waiting: limits.readsWaitingMax,
    waitMs: limits.readWaitMsMax,
    refusal: 'Too many streams of the organization are being read; try again later.',
    retryAfterSeconds: limits.readRetryAfterSeconds,
  });
}
