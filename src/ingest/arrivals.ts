import { limits } from './limits.ts';
import { FifoMap } from '../base/fifo-map.ts';

/**
 * Which segments of this process's log may hold events of an organization. Who has read all of it once need not ask
 * the engine again as long as nothing came since.
 */
export interface Arrivals {
  /**
   * Runs an append of events of these organizations (undefined: of any). `append` resolves with their segment, or
   * rejects when nothing was stored.
   */
  during(organizations: ReadonlySet<string | undefined>, append: () => Promise<number>): Promise<void>;
  /** The last segment that may hold events of the organization; Infinity while some are being written. */
  lastSegmentOf(organization: string): number;
}

interface Arrived {
  readonly organization: string;
  writing: number;
  last: number;
}

const any = '';

/** `before`: the last segment of earlier processes; what it holds is not known. */
export function createArrivals(before: number): Arrivals {
  const known = new FifoMap<Arrived>();
  /** True of every organization that is not known. */
  let floor = before;

  function entryOf(organization: string): Arrived {
    const entry = known.get(organization) ?? { organization, writing: 0, last: floor };
    known.set(organization, entry);
    if (known.size > limits.arrivalsOrganizationsMax) {
      const oldest = known.removeOldest();
      if (oldest !== undefined && oldest.writing > 0) known.set(oldest.organization, oldest);
      else floor = Math.max(floor, oldest?.last ?? floor);
    }
    return entry;
  }

  const lastOf = (organization: string): number => {
    const entry = known.get(organization);
    if (entry === undefined) return floor;
    return entry.writing > 0 ? Number.POSITIVE_INFINITY : entry.last;
  };

  return {
    async during(organizations, append) {
      const entries = [...organizations].map((one) => entryOf(one ?? any));
      for (const entry of entries) entry.writing += 1;
      try {
        const segment = await append();
        for (const entry of entries) entry.last = Math.max(entry.last, segment);
      } finally {
        for (const entry of entries) entry.writing -= 1;
      }
    },
    lastSegmentOf: (organization) => Math.max(lastOf(organization), lastOf(any)),
  };
}
