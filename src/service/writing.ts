import { errorFacts } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { IngestDirectory } from '../control/ingest-directory.ts';
import { IngestOrder } from '../ingest/ingest-order.ts';
import { type Ingest, type IngestOptions, openIngest } from '../ingest/ingest.ts';
import type { Permit } from '../ingest/order-numbers.ts';
import { createSegmentInsert, newestStored } from '../storage/insert.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import { isAtHome } from '../storage/own-place.ts';
import { SharedOrder } from '../storage/shared-order.ts';
import { WriterNumber } from '../storage/writers.ts';
import type { Base } from './base.ts';

/**
 * Below this the log rejects events of producers: the embedded engine needs `engineFreeBytesMin` to take over
 * the log, and the service's own events `walKeepFreeOfServiceBytes`.
 */
const walKeepFreeBytes = 512 * 1024 * 1024;
/**
 * Below this the log rejects everything. Between the two is room for half a million events of the service.
 */
const walKeepFreeOfServiceBytes = 64 * 1024 * 1024;
const writerRenewMs = 3_600_000;

export type Writing = Awaited<ReturnType<typeof startWriting>>;

/** In one order with all other writers. */
export async function startWriting(
  base: Base,
  stored: ServiceStorage,
  organizations: IngestDirectory,
  sharedAnswers: IngestOptions['sharedAnswers'],
) {
  const { config, log, damage } = base;
  const { storage, engineWrites, instance } = stored;
  const member = instance === undefined ? undefined : new Member(base, stored, instance);
  const ingest = await openIngest({
    dataDir: config.dataDir,
    log,
    damage,
    workers: config.workers,
    appName: config.appName,
    mappings: config.mappings,
    redactKeys: config.redactKeys,
    redactValues: config.redactValues,
    bodyBytesMax: config.maxBodyBytes,
    flushIntervalMs: config.flushIntervalMs,
    segmentBytes: config.segmentBytes,
    walBytesMax: config.walMaxBytes,
    keepFreeBytes: { producers: walKeepFreeBytes, service: walKeepFreeOfServiceBytes },
    ...(member && { writer: () => member.writer, permit: member.permit }),
    answersNowMs: base.steadyMs,
    sink: engineWrites.watch(createSegmentInsert(storage, log)),
    newestStored: () => newestStored(storage),
    sharedAnswers,
    directory: () => organizations.shared(),
  });
  base.stops.add(() => ingest.close());
  const shared = await member?.join(ingest);
  return { ingest, order: new IngestOrder({ ingest, shared }) };
}

class Member {
  readonly permit: Permit;
  readonly #base: Base;
  readonly #storage: ServiceStorage['storage'];
  readonly #instance: string;
  readonly #number: WriterNumber;
  #join = (_order: SharedOrder): void => {};

  constructor(base: Base, { storage }: ServiceStorage, instance: string) {
    this.#base = base;
    this.#storage = storage;
    this.#instance = instance;
    this.#number = new WriterNumber(storage, instance);
    const joined = new Promise<SharedOrder>((resolve) => (this.#join = resolve));
    let order: SharedOrder | undefined;
    this.permit = {
      async ready() {
        order = await joined;
        await order.ready();
      },
      requireReady: () => order?.requireReady(),
    };
  }

  get writer(): number {
    return this.#number.id;
  }

  async join(ingest: Ingest): Promise<SharedOrder> {
    const { config, log, stops, failed } = this.#base;
    const [storage, instance, number] = [this.#storage, this.#instance, this.#number];
    const takeNumber = () => number.take();
    const options = { storage, instance, log, failed, takeNumber, isAtHome: await isAtHome(config.dataDir) };
    const order = await SharedOrder.join(options, {
      lowest() {
        const { lowest, ofOrganization } = ingest.watermarks();
        return Math.min(lowest, ...ofOrganization.values());
      },
      raise: (reached) => ingest.raise(reached),
      isInFlight: () => ingest.isInFlight(),
    });
    const renewal = new Repeated(
      writerRenewMs,
      () => number.renew(),
      (error) => log.warn(errorFacts(error), 'Renewing the lease of this writer number failed; will retry'),
    );
    stops.add(() => renewal.stop());
    stops.add(() => order.leave());
    this.#join(order);
    return order;
  }
}
