import { FifoMap } from '../base/waiting/fifo-map.ts';
import { limits } from './limits.ts';

/** Segments of which it is remembered which numbers had been given out when they were stored. */
const settledSegmentsMax = 10_000;

interface Arrived {
  readonly organization: string;
  writing: number;
  last: number;
}

const any = '';

/**
 * Which segments of this process's log may hold events of an organization. Who has read all of it once need not ask
 * the engine again as long as nothing came since.
 */
export class Arrivals {
  readonly #known = new FifoMap<Arrived>();
  /** The last segment of every organization that is not known. */
  #lastOfOthers: number;

  /** `before`: the last segment of earlier processes; what it holds is not known. */
  constructor(before: number) {
    this.#lastOfOthers = before;
  }

  /**
   * Runs an append of events of these organizations (undefined: of any). `append` resolves with their segment, or
   * rejects when nothing was stored.
   */
  async during(organizations: ReadonlySet<string | undefined>, append: () => Promise<number>): Promise<void> {
    const entries = [...organizations].map((one) => this.#begin(one ?? any));
    try {
      const segment = await append();
      for (const entry of entries) entry.last = Math.max(entry.last, segment);
    } finally {
      for (const entry of entries) entry.writing -= 1;
    }
  }

  /** The last segment that may hold events of the organization; undefined while some are being written. */
  lastSegmentOf(organization: string): number | undefined {
    const entries = [this.#known.get(organization), this.#known.get(any)];
    if (entries.some((entry) => (entry?.writing ?? 0) > 0)) return undefined;
    return Math.max(...entries.map((entry) => entry?.last ?? this.#lastOfOthers));
  }

  /** The entry of an organization whose events are being written from now on. */
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

/** Which numbers had been given out by the time at which segments of the log were stored. */
export class SettledSegments {
  readonly #lasts = new Map<number, number>();
  #newest: number;
  /** That of each segment that is not remembered. */
  #lastOfOthers: number;

  /** `newest`: the newest segment of earlier processes, and `last`: the last number that they had taken. */
  constructor(newest: number, last: number) {
    this.#newest = newest;
    this.#lastOfOthers = last;
  }

  /** A segment is stored, under a number that is not above `last`. */
  settle(segment: number, last: number): void {
    // Those that came after it and were stored before it have their events in the order before its own.
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

  /** No segment up to this one has events above this number, where all of them are stored. */
  lastOf(segment: number): number {
    return this.#lasts.get(segment) ?? this.#lastOfOthers;
  }
}
