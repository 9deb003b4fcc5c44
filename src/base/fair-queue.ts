import { Problem } from './problem.ts';
import { WaitingLine, type WaitingLineOptions } from './waiting-line.ts';

export interface FairQueueOptions {
  /** What runs side by side, of one organization and of all. */
  readonly slotsPerOrganization: number;
  readonly slots: number;
  /** What waits for a slot, of one organization and of all. */
  readonly waitingPerOrganization: number;
  readonly waiting: number;
  readonly waitMs: number;
  /** What a refused caller reads. */
  readonly refusal: string;
  readonly retryAfterSeconds: number;
  /** What a caller gets whose signal fires while it waits. */
  readonly aborted?: () => Error;
}

type Release = () => void;

/** Present while something of the organization runs or waits. */
interface Share {
  running: number;
  readonly line: WaitingLine<Release>;
}

/**
 * A semaphore that all organizations share, so that one that asks for much waits for itself (contract: Rate limits): a
 * slot that becomes free goes to the organization that has the fewest, and among equals to the one that has waited
 * longest for one.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #lineOptions: WaitingLineOptions & { readonly aborted: () => Error };
  /** In the order in which they last got a slot. */
  readonly #shares = new Map<string, Share>();
  #running = 0;

  constructor(options: FairQueueOptions) {
    const { waitMs, refusal, retryAfterSeconds } = options;
    this.#options = options;
    this.#lineOptions = {
      waitMs,
      refused: () => new Problem('rate_limited', refusal, { retryAfterSeconds }),
      aborted: options.aborted ?? (() => new Error('the caller ended the request')),
    };
  }

  /**
   * Waits for a slot; the function returned releases it, once. Rejects with Problem `rate_limited` when too many wait
   * already or no slot is free in time, and with the error of `aborted` when `signal` fires first.
   */
  async acquire(organization: string, signal?: AbortSignal): Promise<Release> {
    if (signal?.aborted === true) throw this.#lineOptions.aborted();
    const { slots, slotsPerOrganization, waitingPerOrganization, waiting } = this.#options;
    const share = this.#shares.get(organization) ?? { running: 0, line: new WaitingLine(this.#lineOptions) };
    if (this.#running < slots && share.running < slotsPerOrganization) return this.#take(organization, share);
    if (share.line.length >= waitingPerOrganization || this.#waiting() >= waiting) {
      throw this.#lineOptions.refused();
    }
    this.#shares.set(organization, share);
    try {
      return await share.line.wait(signal);
    } catch (error) {
      this.#forget(organization, share);
      throw error;
    }
  }

  /** How many run and how many wait. */
  size(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting() };
  }

  #waiting(): number {
    let sum = 0;
    for (const { line } of this.#shares.values()) sum += line.length;
    return sum;
  }

  #take(organization: string, share: Share): Release {
    this.#running += 1;
    share.running += 1;
    this.#shares.delete(organization);
    this.#shares.set(organization, share);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running -= 1;
      share.running -= 1;
      this.#forget(organization, share);
      this.#serve();
    };
  }

  #serve(): void {
    while (this.#running < this.#options.slots) {
      const next = this.#next();
      if (next === undefined) return;
      next[1].line.serve(this.#take(...next));
    }
  }

  #next(): [string, Share] | undefined {
    let best: [string, Share] | undefined;
    for (const entry of this.#shares) {
      const [, { running, line }] = entry;
      if (line.length === 0 || running >= this.#options.slotsPerOrganization) continue;
      if (best === undefined || running < best[1].running) best = entry;
    }
    return best;
  }

  #forget(organization: string, share: Share): void {
    const isIdle = share.running === 0 && share.line.length === 0;
    if (isIdle && this.#shares.get(organization) === share) this.#shares.delete(organization);
  }
}
