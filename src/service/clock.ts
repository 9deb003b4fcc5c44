import type { Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { ClockTrust } from '../base/time/clock-trust.ts';
import { newestSegmentIn } from '../ingest/files.ts';
import { newestStoredMs } from '../storage/newest-stored.ts';
import type { Storage } from '../storage/storage.ts';

interface ClockDeps {
  readonly dataDir: string;
  readonly log: Logger;
  readonly stops: StopStack;
}

/** Tells whether the clock is to be trusted; all work that cannot be undone asks it. */
export async function openClock({ dataDir, log, stops }: ClockDeps, storage: Storage): Promise<ClockTrust> {
  const newestStored = async () => newestStoredMs(storage, await newestSegmentIn(dataDir));
  const trust = await ClockTrust.open({ dataDir, log, newestStored });
  stops.add(() => trust.stop());
  return trust;
}
