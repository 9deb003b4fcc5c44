import { Problem } from '../errors/problem.ts';
import { WaitingLine, type WaitingLineOptions } from './waiting-line.ts';

export interface FairQueueOptions {
  /** Concurrent work, of one organization and of all. */
  readonly slotsPerOrganization: number;
  readonly slots: number;
  /** Waiting callers, of one organization and of all. */
  readonly waitingPerOrganization: number;
  readonly waiting: number;
  readonly waitMs: number;
  readonly refusal: string;
  readonly retryAfterSeconds: number;
  readonly aborted?: () => Error;
}

type Release = () => void;

/** Exists while the organization runs or waits. */
interface Usage {
  running: number;
  readonly line: WaitingLine<Release>;
}

/**
 * A semaphore shared by organizations (contract: Rate limits): a free slot goes to the organization with the
 * fewest, among equals to the one that has waited longest.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #lineOptions: WaitingLineOptions & { readonly aborted: () => Error };
  /** In the order of their last slot. */
  readonly #usages = new Map<string, Usage>();
  #running = 0;

  constructor(options: FairQueueOptions) {
    const { waitMs, refusal, retryAfterSeconds } = options;
    this.#options = options;
    this.#lineOptions = {
      waitMs,
      refused: () => new Problem('rate_limited', refusal, { retryAfterSeconds }),
      aborted: options.aborted ?? (() => new Error('The caller ended the request')),
    };
  }

  /**
   * Waits for a slot; the returned function releases it. Rejects with Problem `rate_limited` if too many wait
   * or no slot is free in time, with the error of `aborted` if `signal` fires.
   */
  async acquire(organization: string, signal?: AbortSignal): Promise<Release> {
    if (signal?.aborted === true) throw this.#lineOptions.aborted();
    const { slots, slotsPerOrganization, waitingPerOrganization, waiting } = this.#options;
    const usage = this.#usages.get(organization) ?? { running: 0, line: new WaitingLine(this.#lineOptions) };
    if (this.#running < slots && usage.running < slotsPerOrganization) return this.#take(organization, usage);
    if (usage.line.length >= waitingPerOrganization || this.#waiting() >= waiting) {
      throw this.#lineOptions.refused();
    }
    this.#usages.set(organization, usage);
    try {
      return await usage.line.wait(signal);
    } catch (error) {
      this.#forget(organization, usage);
      throw error;
    }
  }

  size(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting() };
  }

  #waiting(): number {
    let sum = 0;
    for (const { line } of this.#usages.values()) sum += line.length;
    return sum;
  }

  #take(organization: string, usage: Usage): Release {
    this.#running += 1;
    usage.running += 1;
    this.#usages.delete(organization);
    this.#usages.set(organization, usage);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= 1;
      usage.running -= 1;
      this.#forget(organization, usage);
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

  #next(): [string, Usage] | undefined {
    let best: [string, Usage] | undefined;
    for (const entry of this.#usages) {
      const [, { running, line }] = entry;
      if (line.length === 0 || running >= this.#options.slotsPerOrganization) continue;
      if (best === undefined || running < best[1].running) best = entry;
    }
    return best;
  }

  #forget(organization: string, usage: Usage): void {
    const isIdle = usage.running === 0 && usage.line.length === 0;
    if (isIdle && this.#usages.get(organization) === usage) this.#usages.delete(organization);
  }
}
