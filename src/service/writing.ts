import type { IngestDirectory } from '../control/ingest-directory.ts';
import { IngestOrder } from '../ingest/ingest-order.ts';
import { type IngestOptions, openIngest } from '../ingest/ingest.ts';
import { limits as ingestLimits } from '../ingest/limits.ts';
import { renumberLog } from '../ingest/renumber.ts';
import { createSegmentInsert, storedRowsOf } from '../storage/insert.ts';
import { FeedWatch } from '../storage/feed-watch.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import { WriterRegistry } from '../storage/writer-registry.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import { otherCommands } from '../storage/other-writers.ts';
import type { Base } from './base.ts';

export type Writing = Awaited<ReturnType<typeof startWriting>>;

/** The log and the way of its segments into the table, in one order with all others that write there. */
export async function startWriting(
  base: Base,
  stored: ServiceStorage,
  organizations: IngestDirectory,
  sharedAnswers: IngestOptions['sharedAnswers'],
) {
  const { config, dataDir, log, damage } = base;
  const { storage, engineWrites } = stored;
  const isOwnEngine = stored.held !== undefined;
  const { instance } = stored;
  const member =
    instance === undefined ? undefined : await WriterRegistry.join({ ...base, storage, instance });
  if (member !== undefined) await takeNewPlaces(base, stored, member);
  const answersNowMs = () => base.steadyMs();
  const sink = engineWrites.watch(createSegmentInsert(storage, log));
  const ingest = await openIngest({
    ...config,
    dataDir,
    log,
    bodyBytesMax: config.maxBodyBytes,
    walBytesMax: config.walMaxBytes,
    keepFreeBytes: {
      producers: ingestLimits.walKeepFreeBytes,
      service: ingestLimits.walKeepFreeOfServiceBytes,
    },
    writer: member?.writer ?? 0,
    answersNowMs,
    sink: member?.fence(sink) ?? sink,
    damage,
    sharedAnswers,
    directory: () => organizations.shared(),
  });
  base.stops.add(() => ingest.close());
  await member?.publish(ingest);
  const others = member?.others ?? otherCommands(storage, dataDir);
  const clockSkewMs = isOwnEngine ? undefined : storageLimits.clockSkewMsMax;
  const watch = isOwnEngine ? new FeedWatch({ storage, instance: undefined, log }) : undefined;
  base.stops.add(() => watch?.stop());
  const feedGoesOn = (): boolean => watch?.isHeld !== true && member?.feedGoesOn() !== false;
  return { ingest, feedGoesOn, order: new IngestOrder({ ingest, others, clockSkewMs }), member };
}

/** For a server that was fenced: nobody waits any more for the places that its log has. */
async function takeNewPlaces(base: Base, stored: ServiceStorage, member: WriterRegistry): Promise<void> {
  const { dataDir, log, damage } = base;
  const { storage } = stored;
  const { writer, renumberAfter: after } = member;
  if (after === undefined) return;
  const storedRows = (segment: number): Promise<number> => storedRowsOf(storage, segment);
  const answersNowMs = () => base.steadyMs();
  await renumberLog({
    dataDir,
    log,
    answersNowMs,
    damage,
    writer,
    after,
    storedRowsOf: storedRows,
  });
  await member.succeed();
}
