import type { Clock } from '../base/time/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { type CaseEventsReader, createCaseEventsReader } from './case-events.ts';
import type { EventEnvelope } from './envelope.ts';
import { createExportReader, createOcsf110ExportReader, type ExportReader } from './export.ts';
import { exportSlots, inTurn, readQueue, sourceStreamSlots, makeTurn } from './fair-queue.ts';
import { createFeedReader, type FeedReader } from './feed.ts';
import { createFeedCursors } from './feed-cursor.ts';
import { createHistogramReader, type HistogramReader } from './histogram.ts';
import { createLegacyReader, type LegacyReader } from './legacy.ts';
import type { AuditFilter, EventSchema } from './filter.ts';
import { createPageReader, createOcsf110PageReader, type PageReader } from './page.ts';
import { createReceiptsReader, type ReceiptsReader } from './receipts.ts';
import { createRowsReader, type RowsReader } from './rows.ts';
import { createSourceEventsReader, type SourceEventsReader } from './source-events.ts';
import type { Ocsf110Pool } from './ocsf110/pool.ts';
import { createTopFilesReader, type TopFilesReader } from './top-files.ts';
import { createTopValuesReader, type TopValuesReader } from './top-values.ts';

export interface Readers {
  readonly page: PageReader;
  readonly rows: RowsReader;
  readonly feed: FeedReader;
  readonly export: ExportReader;
  readonly caseEvents: CaseEventsReader;
  readonly legacy: LegacyReader;
  readonly receipts: ReceiptsReader;
  readonly histogram: HistogramReader;
  readonly topValues: TopValuesReader;
  readonly topFiles: TopFilesReader;
  readonly sourceEvents: SourceEventsReader;
}

export interface ReadersOptions {
  readonly storage: Storage;
  readonly pool: Ocsf110Pool;
  readonly envelope: EventEnvelope;
  readonly clock: Clock;
  readonly secret: string;
  readonly order: {
    watermarks(): { of(organization: string): bigint };
    arrivedBefore(organization: string): bigint | undefined;
    waitingMs(): number;
  };
  /**
   * Unix microseconds; undefined: none have expired. Every reader applies it, even while expired events are still in the table.
   */
  retentionCutOff(organization: string): number | undefined;
  readonly stopping: AbortSignal;
}

export function createReaders(options: ReadersOptions): Readers {
  const { storage, pool, envelope, clock, order } = options;
  const queue = readQueue();
  const watermark = (organization: string) => order.watermarks().of(organization);
  const retentionCutOff = (organization: string) => options.retentionCutOff(organization);
  const { ofKept, byKept } = keepingTo(retentionCutOff);
  const turn = makeTurn(queue);
  const exports = exportSlots();
  const page = createPageReader(storage, envelope, clock, turn);
  return {
    page: inTurn(queue, ofKept(bySchema(page, createOcsf110PageReader(options, turn)))),
    rows: inTurn(queue, ofKept(createRowsReader(storage, watermark))),
    export: inTurn(
      exports,
      ofKept(bySchema(createExportReader(storage, envelope), createOcsf110ExportReader(options))),
      (result) => result.stream,
    ),
    caseEvents: inTurn(exports, ofKept(createCaseEventsReader(storage, envelope))),
    feed: createFeedReader({
      storage,
      pool,
      envelope,
      clock,
      cursors: createFeedCursors(options.secret),
      watermark,
      arrivedBefore: (organization) => order.arrivedBefore(organization),
      waitingMs: () => order.waitingMs(),
      retentionCutOff,
      queue,
      stopping: options.stopping,
    }),
    legacy: inTurn(sourceStreamSlots(), ofKept(createLegacyReader(storage)), (stream) => stream),
    receipts: inTurn(queue, createReceiptsReader(storage, retentionCutOff)),
    histogram: inTurn(queue, byKept(createHistogramReader(storage))),
    topValues: inTurn(queue, byKept(createTopValuesReader(storage))),
    topFiles: inTurn(queue, byKept(createTopFilesReader(storage))),
    sourceEvents: inTurn(queue, ofKept(createSourceEventsReader(storage, envelope, clock, turn))),
  };
}

function keepingTo(retentionCutOff: ReadersOptions['retentionCutOff']) {
  const kept = (organization: string, filter: AuditFilter): AuditFilter => ({
    ...filter,
    cutOffMicros: retentionCutOff(organization),
  });
  return {
    ofKept:
      <R extends { readonly filter: AuditFilter }, A extends readonly unknown[], T>(
        read: (organization: string, request: R, ...rest: A) => T,
      ): typeof read =>
      (organization, request, ...rest) =>
        read(organization, { ...request, filter: kept(organization, request.filter) }, ...rest),
    byKept:
      <A extends readonly unknown[], T>(
        read: (organization: string, filter: AuditFilter, ...rest: A) => T,
      ): typeof read =>
      (organization, filter, ...rest) =>
        read(organization, kept(organization, filter), ...rest),
  };
}

function bySchema<R extends { readonly schema?: EventSchema }, A extends readonly unknown[], T>(
  ofDefault: (organization: string, request: R, ...rest: A) => T,
  ofOcsf: (organization: string, request: R, ...rest: A) => T,
): (organization: string, request: R, ...rest: A) => T {
  return (organization, request, ...rest) =>
    (request.schema === 'ocsf' ? ofOcsf : ofDefault)(organization, request, ...rest);
}
