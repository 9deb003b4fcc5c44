import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { gauge } from '../base/metrics.ts';
import { Repeated } from '../base/repeated.ts';
import type { Storage } from './storage.ts';

interface ClockCheckOptions {
  readonly storage: Storage;
  readonly instance: string;
  readonly log: Logger;
  /** Milliseconds: the moment at which a segment of this number was begun, by its writer's clock. */
  timeOfSegment(segment: number): number;
}

/**
 * How many milliseconds the clock of this process is behind: the engine's, or that of another process on it, as the
 * newest place that it has taken in the order tells; 0 when it is not. Rejects with EngineError.
 */
async function clockBehindMs(
  { storage, instance, timeOfSegment }: ClockCheckOptions,
  signal?: AbortSignal,
): Promise<number> {
  const [row] = await storage.rows<{ now: string; newest: string }>(
    `SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now, toString(max(low)) AS newest FROM watermarks FINAL
     WHERE until > now64(3) AND writer != {instance:UUID}`,
    { instance },
    signal === undefined ? {} : { signal },
  );
  // Of after the answer, so that the way of it does not count.
  const ownMs = Date.now();
  const aheadMs = Math.max(Number(row?.now ?? 0), timeOfSegment(Number(row?.newest ?? 0)));
  return Math.max(0, aheadMs - ownMs);
}

/**
 * Tells an operator, at the start and by a metric, of a clock that is behind those of the other processes on the
 * engine: events that come here then reach followers of the feed there too late to be handed out in order, and the
 * feed here waits for the time to pass. The function returned ends the watch.
 */
export async function watchClock(options: ClockCheckOptions): Promise<() => Promise<void>> {
  let behindMs = await clockBehindMs(options);
  if (behindMs > limits.clockSkewMsMax) {
    const facts = { behindSeconds: behindMs / 1000, allowedSeconds: limits.clockSkewMsMax / 1000 };
    options.log.warn(facts, 'the clock is behind those of others on the engine: set it right for the feed');
  }
  const help = 'How far the clock is behind the engine and the other processes on it';
  gauge('auditlog_clock_behind_seconds', help, [], (metric) => metric.set(behindMs / 1000));
  const check = async (signal: AbortSignal): Promise<void> => {
    behindMs = await clockBehindMs(options, signal);
  };
  const checks = new Repeated(limits.clockCheckMs, check, (error) =>
    options.log.debug(errorFacts(error), 'the clock could not be compared yet'),
  );
  return () => checks.stop();
}
