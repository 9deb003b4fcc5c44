import { firstSeqOf } from '../base/events/sequence.ts';
import type { Ingest } from './ingest.ts';

interface IngestOrderOptions {
  readonly ingest: Pick<Ingest, 'watermarks' | 'lastNumberOf' | 'waitingMs'>;
  /** Where others write the same table: nothing that comes later is below it, whoever stores it. */
  readonly shared: { watermark(): number } | undefined;
}

/** No event below its place in the order can come any more. */
interface OrderWatermarks {
  readonly ofAll: bigint;
  of(organization: string): bigint;
}

/** The order in which events become readable: what this process and others have stored of it, and may still add. */
export class IngestOrder {
  readonly #options: IngestOrderOptions;

  constructor(options: IngestOrderOptions) {
    this.#options = options;
  }

  /** With an own engine a large request of one organization holds back no other's. */
  watermarks(): OrderWatermarks {
    const { ingest, shared } = this.#options;
    if (shared !== undefined) {
      const ofAll = firstSeqOf(shared.watermark());
      return { ofAll, of: () => ofAll };
    }
    const { lowest, ofOrganization } = ingest.watermarks();
    return {
      ofAll: firstSeqOf(Math.min(lowest, ...ofOrganization.values())),
      of: (organization) => firstSeqOf(Math.min(lowest, ofOrganization.get(organization) ?? lowest)),
    };
  }

  /**
   * A place before which all events of an organization are that have been taken by now; undefined while some wait for
   * the engine, or when that cannot be told.
   */
  arrivedBefore(organization: string): bigint | undefined {
    const { ingest, shared } = this.#options;
    const last = shared === undefined ? ingest.lastNumberOf(organization) : undefined;
    // What has a number lies below the first place of the next.
    return last === undefined ? undefined : firstSeqOf(last + 1);
  }

  /** For how long the oldest event that was taken here has waited to get its place; 0 when none waits. */
  waitingMs(): number {
    return this.#options.ingest.waitingMs();
  }
}
