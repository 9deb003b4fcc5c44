import { randomUUID } from 'node:crypto';
import { relative } from 'node:path';
import { errorFacts } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { logDirectories } from '../config/log-directories.ts';
import type { IngestDirectory } from '../control/ingest-directory.ts';
import { IngestOrder } from '../ingest/ingest-order.ts';
import { openIngest } from '../ingest/ingest.ts';
import { lowestSegmentIn, newestSegmentOf } from '../ingest/orphaned-log.ts';
import { limits as ingestLimits } from '../ingest/limits.ts';
import { renumberLog } from '../ingest/renumber.ts';
import { OrphanedLogs } from '../processes/orphaned-logs.ts';
import { createSegmentInsert, storedRowsOf } from '../storage/insert.ts';
import { FeedWatch } from '../storage/feed-watch.ts';
import { KeyTable } from '../storage/key-table.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import { LogTable } from '../storage/log-table.ts';
import { WriterRegistry } from '../storage/writer-registry.ts';
import { instanceOf, isNamed, type ServiceStorage } from '../storage/open-storage.ts';
import { otherCommands } from '../storage/other-writers.ts';
import { withdrawWatermark } from '../storage/watermarks.ts';
import type { Base } from './base.ts';

export type Writing = Awaited<ReturnType<typeof startWriting>>;

/** The log and the way of its segments into the table, in one order with all others that write there. */
export async function startWriting(base: Base, stored: ServiceStorage, organizations: IngestDirectory) {
  const { config, dataDir, log, damage } = base;
  const { storage, writeHealth, isOwnEngine } = stored;
  const left = await findOrphanedLogs(base, stored);
  const member = await join(base, stored);
  if (member !== undefined) await takeNewPlaces(base, stored, member);
  const answersNowMs = () => base.steadyMs();
  const keys = new KeyTable(storage, answersNowMs, isOwnEngine ? config.dataDir : undefined);
  const forgetting = new Repeated(
    storageLimits.keyForgetEveryMs,
    () => keys.forget(),
    (error) => log.warn(errorFacts(error), 'Idempotency-Keys that are over could not be removed'),
  );
  base.stops.add(() => forgetting.stop());
  const sink = writeHealth.watch(createSegmentInsert(storage, log));
  const ingest = await openIngest({
    ...config,
    dataDir,
    log,
    bodyBytesMax: config.maxBodyBytes,
    walBytesMax: config.walMaxBytes,
    // The engine needs room to take over what the log holds, or neither could go on.
    keepFreeBytes: isOwnEngine ? ingestLimits.walKeepFreeBytes : 0,
    writer: member?.writer ?? 0,
    answersNowMs,
    // Once all know that this process may write, and so behind everything that readers have been given.
    above: isOwnEngine ? await newestSegmentOf(await logDirectories(config.dataDir)) : 0,
    sink: member?.fence(sink) ?? sink,
    damage,
    keys: {
      table: keys,
      instance: stored.instance ?? randomUUID(),
      log,
      isShared: stored.instance !== undefined,
    },
    notesOf: await logTables(base, stored),
    directory: () => organizations.shared(),
  });
  base.stops.add(() => ingest.close());
  await member?.publish(ingest);
  await left?.takeOver(ingest);
  left?.start(ingest);
  base.stops.add(() => left?.stop());
  const others = member?.others ?? otherCommands(storage, dataDir);
  const clockSkewMs = isOwnEngine ? undefined : storageLimits.clockSkewMsMax;
  const watch = isOwnEngine ? new FeedWatch({ storage, instance: undefined, log }) : undefined;
  base.stops.add(() => watch?.stop());
  const feedGoesOn = (): boolean => watch?.isHeld !== true && member?.feedGoesOn() !== false;
  return { ingest, feedGoesOn, order: new IngestOrder({ ingest, others, clockSkewMs }), member };
}

/** Its place among those that write; undefined where it has the engine for itself. */
async function join(
  { config, place, dataDir, log, stops, failed }: Base,
  { storage, instance, isOwnEngine }: ServiceStorage,
): Promise<WriterRegistry | undefined> {
  if (instance === undefined) {
    // What it was known by as one of several processes must not hold back the order; its log is open here.
    if (await isNamed(dataDir)) await withdrawWatermark(storage, await instanceOf(dataDir));
    return undefined;
  }
  const options = { storage, dataDir, instance, log, stops, failed };
  if (place === undefined || !isOwnEngine) return WriterRegistry.join(options);
  const newest = await newestSegmentOf(await logDirectories(config.dataDir));
  const low = (await lowestSegmentIn(dataDir)) ?? newest;
  return WriterRegistry.joinOwn(options, { writer: place.number - 1, low });
}

/** The embedded engine goes with DATA_DIR and knows its logs by their folders, a ClickHouse server by the processes. */
async function logTables({ config, dataDir }: Base, { storage, isOwnEngine }: ServiceStorage) {
  // Read anew: a server that was fenced has another one by now.
  const own = isOwnEngine ? '' : await instanceOf(dataDir);
  return (directory: string, instance = own): LogTable =>
    new LogTable(storage, isOwnEngine ? relative(config.dataDir, directory) : instance);
}

/** For a server that was fenced: nobody waits any more for the places that its log has. */
async function takeNewPlaces(base: Base, stored: ServiceStorage, member: WriterRegistry): Promise<void> {
  const { dataDir, log, damage } = base;
  const { storage, instance = '' } = stored;
  const { writer, renumberAfter: after } = member;
  if (after === undefined) return;
  const storedRows = (segment: number): Promise<number> => storedRowsOf(storage, segment);
  const answersNowMs = () => base.steadyMs();
  const keys = new KeyTable(storage, answersNowMs);
  const answeredByOthers = (ids: readonly string[]) => keys.answeredByOthers(ids, instance);
  await renumberLog({
    dataDir,
    log,
    answersNowMs,
    damage,
    writer,
    after,
    storedRowsOf: storedRows,
    answeredByOthers,
  });
  await member.succeed();
}

/** What processes have left of which there are no more: the first one, or the only one, takes it over. */
async function findOrphanedLogs({ config, place, log }: Base, { storage }: ServiceStorage) {
  if (place !== undefined && place.number > 1) return undefined;
  const { dataDir } = config;
  return OrphanedLogs.find({ storage, dataDir, used: place?.directories(dataDir) ?? [dataDir], log });
}
