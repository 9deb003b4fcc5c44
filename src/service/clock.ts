import { ClockTrust } from '../base/time/clock-trust.ts';
import { logDirectories } from '../config/log-directories.ts';
import { newestSegmentOf } from '../ingest/orphaned-log.ts';
import { newestStoredMs } from '../storage/newest-stored.ts';
import type { Storage } from '../storage/storage.ts';
import type { Base } from './base.ts';

/** Who says whether the clock is to be trusted: one on each data directory, asked by all that cannot be undone. */
export async function startClock(
  { config, place, log, stops }: Pick<Base, 'config' | 'place' | 'log' | 'stops'>,
  storage: Storage,
): Promise<ClockTrust> {
  const { dataDir } = config;
  const keepsMark = place === undefined || place.number === 1;
  const newestStored = async () =>
    newestStoredMs(storage, await newestSegmentOf(await logDirectories(dataDir)));
  const trust = await ClockTrust.open({ dataDir, log, keepsMark, newestStored });
  stops.add(() => trust.stop());
  return trust;
}
