import type { Clock } from '../base/clock.ts';
import { memoizeFor } from '../base/single-flight.ts';
import type { Storage } from '../storage/storage.ts';
import type { EventEnvelope } from './envelope.ts';
import { createExportReader, createStandardExportReader, type ExportReader } from './export.ts';
import { exportSlots, inTurn, readQueue, sourceStreamSlots } from './fair-queue.ts';
import { createFeedReader, type FeedReader } from './feed.ts';
import { createFeedCursors } from './feed-cursor.ts';
import { createHistogramReader, type HistogramReader } from './histogram.ts';
import { createLegacyReader, type LegacyReader } from './legacy.ts';
import type { EventSchema } from './filter.ts';
import { limits } from './limits.ts';
import { createPageReader, createStandardPageReader, type PageReader } from './page.ts';
import type { ReadBody } from './read-body.ts';
import { createReceiptsReader, type ReceiptsReader } from './receipts.ts';
import { createSourceEventsReader } from './source-events.ts';
import type { StandardPool } from './standard/pool.ts';
import { createTopValuesReader, type TopValuesReader } from './top-values.ts';

/** What reads records, each for one organization. */
export interface Readers {
  readonly page: PageReader;
  readonly feed: FeedReader;
  readonly export: ExportReader;
  readonly legacy: LegacyReader;
  readonly receipts: ReceiptsReader;
  readonly histogram: HistogramReader;
  readonly topValues: TopValuesReader;
  readonly sourceEvents: PageReader;
}

export interface ReadersOptions {
  readonly storage: Storage;
  /** Maps events of OCSF 1.1.0. */
  readonly pool: StandardPool;
  readonly envelope: EventEnvelope;
  readonly clock: Clock;
  /** The key that signs cursors of the feed is made of it. */
  readonly secret: string;
  /** The order of ingest; see `FeedOptions`. */
  readonly order: {
    settledBefore(): Promise<{ of(organization: string): bigint }>;
    arrivedBefore(organization: string): bigint | undefined;
  };
  /** Ends requests that only wait: the server stops. */
  readonly stopping: AbortSignal;
}

/** The readers of a service, which take turns. */
export function createReaders(options: ReadersOptions): Readers {
  const { storage, pool, envelope, clock, order } = options;
  const queue = readQueue();
  const settled = memoizeFor(limits.feedSettledMs, () => order.settledBefore());
  const page = createPageReader(storage, envelope, clock);
  const flowOf = (body: ReadBody) => ('flow' in body ? body.flow : undefined);
  return {
    page: inTurn(queue, bySchema(page, createStandardPageReader(options)), flowOf),
    export: inTurn(
      exportSlots(),
      bySchema(createExportReader(storage, envelope), createStandardExportReader(options)),
      (result) => result.stream,
    ),
    feed: createFeedReader({
      storage,
      pool,
      envelope,
      clock,
      cursors: createFeedCursors(options.secret),
      settledBefore: async (organization) => (await settled()).of(organization),
      arrivedBefore: (organization) => order.arrivedBefore(organization),
      queue,
      stopping: options.stopping,
    }),
    legacy: inTurn(sourceStreamSlots(), createLegacyReader(storage), (stream) => stream),
    receipts: inTurn(queue, createReceiptsReader(storage)),
    histogram: inTurn(queue, createHistogramReader(storage)),
    topValues: inTurn(queue, createTopValuesReader(storage)),
    sourceEvents: inTurn(queue, createSourceEventsReader(storage, envelope, clock), flowOf),
  };
}

/** The reader of the schema that a request asks for. */
function bySchema<R extends { readonly schema?: EventSchema }, A extends readonly unknown[], T>(
  ofDefault: (organization: string, request: R, ...rest: A) => T,
  ofOcsf: (organization: string, request: R, ...rest: A) => T,
): (organization: string, request: R, ...rest: A) => T {
  return (organization, request, ...rest) =>
    (request.schema === 'ocsf' ? ofOcsf : ofDefault)(organization, request, ...rest);
}
