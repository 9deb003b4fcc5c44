import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDirectoryLocked, lockDirectory } from '../../base/directory-lock.ts';
import { readOrCreateFile } from '../../base/durable-file.ts';
import { Problem } from '../../base/problem.ts';
import { firstSeqOf, seqTimeMs } from '../../base/sequence.ts';
import type { StopStack } from '../../base/stop-stack.ts';
import type { Config } from '../../config/config.ts';
import { logDirectories } from '../../config/log-directories.ts';
import { lowestSegmentIn } from '../../ingest/orphaned-log.ts';
import { limits as storageLimits } from '../../storage/limits.ts';
import type { Storage } from '../../storage/storage.ts';
import { areOthersWriting, publishWatermark } from '../../storage/watermarks.ts';
import type { Sides } from './comparison.ts';
import { reading } from './slices.ts';

type Place = Pick<Config, 'dataDir' | 'clickhouse'>;

/** The name by which the server on this data directory, or this command, is known among those that share an engine. */
export async function instanceOf({ dataDir, clickhouse }: Place): Promise<string> {
  if (clickhouse.url !== undefined) return randomUUID();
  return (await readOrCreateFile(join(dataDir, 'instance-id'), randomUUID())).trim();
}

/**
 * Makes sure that no server writes to the source until `stops` runs: by the lock of the data directory, or, on a ClickHouse
 * server, as none has told how far it is for half a minute. Rejects with a Problem.
 */
export async function requireStopped(
  { dataDir, clickhouse }: Place,
  source: Storage,
  stops: StopStack,
): Promise<void> {
  if (clickhouse.url === undefined) {
    if (await isDirectoryLocked(dataDir))
      throw new Problem('conflict', `a server runs on ${dataDir}: stop it first, then finish the move`);
    const lock = await lockDirectory(dataDir);
    stops.add(() => lock.release());
    return;
  }
  const deadline = performance.now() + 40_000;
  while (await areOthersWriting(source, randomUUID(), storageLimits.writerSignMsMax)) {
    if (performance.now() > deadline)
      throw new Problem(
        'conflict',
        'servers write to the database that is moved: stop all of them first, then finish',
      );
    await sleep(storageLimits.claimPollMs);
  }
}

/**
 * Followers of the feed at the target must wait for events that are in a log (each process has one) and not in the source
 * yet: the next start of the server sends them, under the numbers that they have. What a server that is stopped has promised is told there.
 *
 * @returns the first place in the order of ingest below which nothing can come any more; undefined where all is there
 */
export async function carryPromises(
  { dataDir, clickhouse }: Place,
  { source, target }: Sides,
): Promise<bigint | undefined> {
  const rows = await source.rows<Record<'writer' | 'low' | 'until' | 'version' | 'written', string>>(
    `SELECT toString(writer) AS writer, toString(low) AS low, toString(until) AS until, toString(version) AS version,
       toString(t.written) AS written FROM watermarks AS t FINAL WHERE t.until > now64(3)`,
    {},
    reading,
  );
  await target.insertRows('watermarks', rows);
  const lows = rows.map(({ low }) => Number(low));
  // Beside its own engine a server of one process needs no watermark there, and is one of many at the target.
  const directories = clickhouse.url === undefined ? await logDirectories(dataDir) : [];
  for (const directory of directories) {
    const low = await lowestSegmentIn(directory);
    if (low === undefined) continue;
    await publishWatermark(target, await instanceOf({ dataDir: directory, clickhouse }), low);
    lows.push(low);
  }
  return lows.length === 0 ? undefined : firstSeqOf(Math.min(...lows));
}

/** The place behind the newest event of the source, and what is to be said of its time. */
export async function endOf({
  source,
  target,
}: Sides): Promise<{ readonly end: bigint; readonly notes: string[] }> {
  const [newest] = await source.rows<{ seq: string }>(
    'SELECT toString(max(seq)) AS seq FROM events',
    {},
    reading,
  );
  const [clock] = await target.rows<{ now: string }>(
    'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now',
    {},
    reading,
  );
  const last = BigInt(newest?.seq ?? 0);
  const aheadMs = seqTimeMs(last) - Number(clock?.now ?? 0);
  const notes =
    aheadMs > storageLimits.clockSkewMsMax
      ? [
          `the newest events were recorded ${Math.ceil(aheadMs / 1000)} s ahead of the target's clock: followers of the feed wait until it has come there`,
        ]
      : [];
  return { end: last + 1n, notes };
}
