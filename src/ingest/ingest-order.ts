import { firstSeqOf } from '../base/events/sequence.ts';
import type { Ingest } from './ingest.ts';

interface IngestOrderOptions {
  readonly ingest: Pick<Ingest, 'watermarks' | 'lastNumberOf' | 'waitingMs'>;
  /** Set where other servers write to the same table: a lower bound of every later number. */
  readonly shared: { watermark(): number } | undefined;
}

interface OrderWatermarks {
  readonly ofAll: bigint;
  of(organization: string): bigint;
}

export class IngestOrder {
  readonly #options: IngestOrderOptions;

  constructor(options: IngestOrderOptions) {
    this.#options = options;
  }

  /** With the embedded engine, a large request of one organization does not hold back others. */
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
   * A position after every event of the organization that was accepted so far; undefined while some wait for
   * the engine or where other servers write.
   */
  arrivedBefore(organization: string): bigint | undefined {
    const { ingest, shared } = this.#options;
    const last = shared === undefined ? ingest.lastNumberOf(organization) : undefined;
    return last === undefined ? undefined : firstSeqOf(last + 1);
  }

  waitingMs(): number {
    return this.#options.ingest.waitingMs();
  }
}
