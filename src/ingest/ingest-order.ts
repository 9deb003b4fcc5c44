import type { Ingest } from './ingest.ts';
import { firstSeqOf, segmentAtTime } from '../base/events/sequence.ts';

interface IngestOrderOptions {
  readonly ingest: Pick<Ingest, 'watermarks' | 'lastSegmentOf' | 'raise'>;
  /** Others that write the same table. */
  readonly others: {
    /** The lowest segment that one of them may still write; Infinity when nobody else is writing. */
    watermark(): Promise<number>;
    /** The last segment that they may have written by then; Infinity while some write, or when that cannot be told. */
    writtenThrough(): number;
  };
  /** By how much the clocks of processes that share an engine may differ; undefined beside an own engine. */
  readonly clockSkewMs: number | undefined;
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

  /**
   * The watermarks: below what this process has yet to store and below what others say. Where
   * processes share an engine also below the clock, as a writer that begins now begins there. With an own engine no
   * clock counts: commands begin above the newest segment, and this process goes on above what they have written, which
   * it would hold back for as long as its clock is behind theirs. Rejects with EngineError.
   */
  async watermarks(): Promise<OrderWatermarks> {
    const { ingest, others, clockSkewMs } = this.#options;
    const { lowest, ofOrganization } = await ingest.watermarks();
    const elsewhere = await others.watermark();
    const written = others.writtenThrough();
    if (Number.isFinite(written)) ingest.raise(written);
    const byClock =
      clockSkewMs === undefined ? Number.MAX_SAFE_INTEGER : segmentAtTime(Date.now() - clockSkewMs);
    const anybodys = Math.min(lowest, elsewhere, byClock);
    return {
      ofAll: firstSeqOf(Math.min(anybodys, ...ofOrganization.values())),
      of: (organization) => firstSeqOf(Math.min(anybodys, ofOrganization.get(organization) ?? anybodys)),
    };
  }

  /**
   * A place before which all events of an organization are that have been taken by now; undefined while some are being
   * written, or when that cannot be told.
   */
  arrivedBefore(organization: string): bigint | undefined {
    const { ingest, others } = this.#options;
    const last = Math.max(ingest.lastSegmentOf(organization), others.writtenThrough());
    // What is in a segment lies below the first place of the next.
    return Number.isFinite(last) ? firstSeqOf(last + 1) : undefined;
  }
}
