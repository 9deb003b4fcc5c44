import { FifoMap } from '../base/waiting/fifo-map.ts';
import { limits } from './limits.ts';

const settledSegmentsMax = 10_000;

interface Arrived {
  readonly organization: string;
  writing: number;
  last: number;
}

const anyOrganization = '';

/**
 * The last segment of this log that may have events of an organization. After reading it, a reader needs no query until another
 * one arrives.
 */
export class Arrivals {
  readonly #known = new FifoMap<Arrived>();
  #lastOfOthers: number;

  /** `before`: the last segment of earlier processes, with unknown contents. */
  constructor(before: number) {
    this.#lastOfOthers = before;
  }

  /**
   * Runs an append of events of these organizations (undefined: unknown). `append` resolves with the segment, or
   * rejects if nothing was stored.
   */
  async during(organizations: ReadonlySet<string | undefined>, append: () => Promise<number>): Promise<void> {
    const entries = [...organizations].map((one) => this.#begin(one ?? anyOrganization));
    try {
      const segment = await append();
      for (const entry of entries) entry.last = Math.max(entry.last, segment);
    } finally {
      for (const entry of entries) entry.writing -= 1;
    }
  }

  /** Undefined while events of the organization are being written. */
  lastSegmentOf(organization: string): number | undefined {
    const entries = [this.#known.get(organization), this.#known.get(anyOrganization)];
    if (entries.some((entry) => (entry?.writing ?? 0) > 0)) return undefined;
    return Math.max(...entries.map((entry) => entry?.last ?? this.#lastOfOthers));
  }

  #begin(organization: string): Arrived {
    const entry = this.#known.get(organization) ?? { organization, writing: 0, last: this.#lastOfOthers };
    entry.writing += 1;
    this.#known.set(organization, entry);
    if (this.#known.size > limits.arrivalsOrganizationsMax) {
      const oldest = this.#known.removeOldest();
      if (oldest !== undefined && oldest.writing > 0) this.#known.set(oldest.organization, oldest);
      else this.#lastOfOthers = Math.max(this.#lastOfOthers, oldest?.last ?? 0);
    }
    return entry;
  }
}

export class SettledSegments {
  readonly #lasts = new Map<number, number>();
  #newest: number;
  #lastOfOthers: number;

  /** `newest`: the newest segment of earlier processes; `last`: the newest number that they took. */
  constructor(newest: number, last: number) {
    this.#newest = newest;
    this.#lastOfOthers = last;
  }

  settle(segment: number, last: number): void {
    // Later segments that were stored before this one have lower numbers than it.
    if (segment < this.#newest) {
      for (const one of this.#lasts.keys()) if (one > segment) this.#lasts.set(one, last);
      this.#lastOfOthers = Math.max(this.#lastOfOthers, last);
    }
    this.#lasts.set(segment, last);
    this.#newest = Math.max(this.#newest, segment);
    if (this.#lasts.size <= settledSegmentsMax) return;
    const [oldest] = this.#lasts.keys();
    this.#lastOfOthers = Math.max(this.#lastOfOthers, this.#lasts.get(oldest ?? 0) ?? 0);
    this.#lasts.delete(oldest ?? 0);
  }

  /** An upper bound of the numbers of all segments up to this one, once all are stored. */
  lastOf(segment: number): number {
    return this.#lasts.get(segment) ?? this.#lastOfOthers;
  }
}
