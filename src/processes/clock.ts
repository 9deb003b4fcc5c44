import type { Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { ClockTrust } from '../base/time/clock-trust.ts';
import { logDirectories } from '../config/log-directories.ts';
import { newestSegmentOf } from '../ingest/orphaned-log.ts';
import { newestStoredMs } from '../storage/newest-stored.ts';
import type { Storage } from '../storage/storage.ts';

interface ClockDeps {
  readonly dataDir: string;
  readonly log: Logger;
  readonly stops: StopStack;
}

/** Who says whether the clock is to be trusted, asked by all that cannot be undone. One process of a data directory `keepsMark`. */
export async function openClock(
  { dataDir, log, stops }: ClockDeps,
  storage: Storage,
  keepsMark: boolean,
): Promise<ClockTrust> {
  const newestStored = async () =>
    newestStoredMs(storage, await newestSegmentOf(await logDirectories(dataDir)));
  const trust = await ClockTrust.open({ dataDir, log, keepsMark, newestStored });
  stops.add(() => trust.stop());
  return trust;
}
