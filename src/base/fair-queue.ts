import { Problem } from './problem.ts';

export interface FairQueueOptions {
  /** What runs side by side, of one organization and of all. */
  readonly atOncePerOrganization: number;
  readonly atOnce: number;
  /** What waits for a turn, of one organization and of all. */
  readonly waitingPerOrganization: number;
  readonly waiting: number;
  readonly waitMs: number;
  /** What a refused caller reads. */
  readonly refusal: string;
  readonly retryAfterSeconds: number;
  /** What a caller gets whose signal fires while it waits. */
  readonly aborted?: () => Error;
}

export interface FairQueue {
  /**
   * Waits for a turn; the function returned ends it, once. Rejects with Problem `rate_limited` when too many wait
   * already or the turn does not come in time, and with the error of `aborted` when `signal` fires first.
   */
  enter(organization: string, signal?: AbortSignal): Promise<() => void>;
  /** How many run and how many wait. */
  size(): { readonly running: number; readonly waiting: number };
}

interface Waiter {
  readonly start: () => void;
}

/** Present while something of the organization runs or waits. */
interface Line {
  running: number;
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>;
}

/**
 * Stands before what all organizations share, so that one that asks for much waits for itself (contract: Rate limits): a
 * turn that becomes free goes to the organization that has the fewest, and among equals to the one that has waited
 * longest for one.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  /** In the order in which they last got a turn. */
  const lines = new Map<string, Line>();
  let running = 0;
  let waiting = 0;

  const aborted = options.aborted ?? (() => new Error('the caller ended the request'));
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

  const wait = (organization: string, line: Line, signal: AbortSignal | undefined) =>
    new Promise<() => void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
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
      const onAbort = (): void => giveUp(aborted());
      const timer = setTimeout(() => giveUp(tooMany()), options.waitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      line.waiters.add(waiter);
      waiting += 1;
    });

  return {
    enter: async (organization, signal) => {
      if (signal?.aborted === true) throw aborted();
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
