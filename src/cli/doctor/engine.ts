import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../base/time/clock.ts';
import { segmentTimeMs } from '../../base/events/sequence.ts';
import { EngineError } from '../../base/errors/engine-error.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import type { Config } from '../../config/config.ts';
import { readControlState } from '../../control/directory.ts';
import { cutOffOf } from '../../control/retention.ts';
import { newestSegmentIn, segmentsIn } from '../../ingest/files.ts';
import { formatVersion, segmentName } from '../../ingest/segment.ts';
import { countExpired, EventRemoval } from '../../storage/removal.ts';
import { checkRights } from '../../storage/rights.ts';
import type { Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import { endOfOrder } from '../../backup/order-end.ts';
import { type Check, check, hostCheck, type Finding } from './check.ts';

/** Maximum difference between the clocks of processes that share an engine. */
const clockSkewMsMax = 2_000;
const doctorLogShareMax = 0.5;
const doctorLogAgeMsMax = 60_000;
const doctorPartsMax = 300;

const dayMicros = 86_400_000_000;

export async function checkVersion(storage: Storage): Promise<Check> {
  const [row] = await storage.rows<{ version: string }>('SELECT version() AS version');
  return hostCheck('engine_version', [], [`ClickHouse ${row?.version}`]);
}

export async function checkTables(storage: Storage): Promise<Check> {
  const rows = await storage.rows<{ name: string }>(
    'SELECT name, checksum, applied FROM schema_migrations FINAL ORDER BY name',
  );
  const note = `migrations up to ${rows.at(-1)?.name.slice(0, 4)}; log format ${formatVersion}`;
  return hostCheck('tables', [], [note]);
}

export async function checkUser(storage: Storage, { user, cluster }: Config['clickhouse']): Promise<Check> {
  try {
    await checkRights(storage, user, cluster);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const remedy = 'run these statements as a user with the right to grant';
    return hostCheck('engine_rights', [{ id: user, detail: error.message, remedy }]);
  }
  return hostCheck('engine_rights', []);
}

/**
 * Compares this machine's clock with the engine's, and with the newest segment of the log, which came from
 * it.
 */
export async function checkClock(storage: Storage, dataDir: string): Promise<Check> {
  const [row] = await storage.rows<{ now: string }>(
    'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now',
  );
  const now = Date.now();
  const apart = Math.abs(Number(row?.now ?? now) - now);
  const setBack = segmentTimeMs(await newestSegmentIn(dataDir)) - now;
  const findings: Finding[] = [];
  if (apart > clockSkewMsMax)
    findings.push({
      id: 'engine',
      detail: `its clock and this machine's differ by ${inSeconds(apart)}`,
      remedy: 'synchronize both machines by NTP: the feed waits for the slower clock',
    });
  if (setBack > clockSkewMsMax)
    findings.push({
      id: 'clock',
      detail: `it is ${inSeconds(setBack)} behind the start time of the newest log segment`,
      remedy: 'correct the clock; no event is lost, but times of receipt and retention are wrong',
    });
  return hostCheck('clock', findings);
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;

export async function checkBacklog({ dataDir, walMaxBytes }: Config, isServed: boolean): Promise<Check> {
  let bytes = 0;
  let segments = 0;
  let oldest = Number.POSITIVE_INFINITY;
  const directory = join(dataDir, 'wal');
  for (const segment of await segmentsIn(directory)) {
    // The engine may have stored it by now.
    bytes += (await ifThere(stat(join(directory, segmentName(segment)))))?.size ?? 0;
    segments += 1;
    oldest = Math.min(oldest, segment);
  }
  const age = Math.max(0, Date.now() - segmentTimeMs(oldest));
  const figures = `${segments} segments with ${bytes} of at most ${walMaxBytes} bytes`;
  const findings: Finding[] = [];
  if (bytes > walMaxBytes * doctorLogShareMax)
    findings.push({
      id: 'wal',
      detail: `${figures}: above that, producers get 503`,
      remedy: isServed
        ? 'see the operational log: the engine accepts nothing, or too slowly'
        : 'start the server, which sends the events of the log',
    });
  // The newest one is open, or kept for its number.
  if (isServed && segments > 1 && age > doctorLogAgeMsMax)
    findings.push({
      id: segmentName(oldest),
      detail: `has waited for the engine for ${inSeconds(age)}`,
      remedy: 'see the operational log: the engine does not accept it',
    });
  return hostCheck('backlog', findings, [figures]);
}

/**
 * Whether every stored event has an order number that a writer can have given out; others are on pages, but
 * in no tree.
 */
export async function checkOrder(storage: Storage, config: Config): Promise<Check> {
  const end = await endOfOrder(storage, config);
  const rows = await storage.rows<Record<'id' | 'events' | 'first', string>>(
    `SELECT toString(org) AS id, toString(count()) AS events, toString(min(seq)) AS first FROM events
     WHERE seq >= {end:UInt64} GROUP BY org ORDER BY org LIMIT {limit:UInt32}`,
    { end, limit: limits.doctorOrganizationsMax },
  );
  const findings = rows.map(({ id, events, first }) => ({
    id,
    detail: `${events} events of this organization have order numbers that no writer has reached, the first ${first}: they were inserted from outside`,
    remedy: 'preserve the disk, find out who wrote to the table, then delete the events by order number',
  }));
  return check('order', findings);
}

/** ClickHouse's ACCESS_DENIED: the service works without this right. */
const accessDenied = 497;

/** Each part to merge slows every page. */
export async function checkPartCount(storage: Storage): Promise<Check> {
  let row: { readonly partition: string; readonly parts: string } | undefined;
  try {
    [row] = await storage.rows<{ partition: string; parts: string }>(
      `SELECT partition_id AS partition, toString(count()) AS parts FROM system.parts
       WHERE database = currentDatabase() AND table IN ('events', 'events_local') AND active
       GROUP BY partition_id ORDER BY count() DESC LIMIT 1`,
    );
  } catch (error) {
    if (!(error instanceof EngineError) || error.engineCode !== accessDenied) throw error;
    return hostCheck('parts', [], ['not counted: this user lacks GRANT SELECT ON system.parts']);
  }
  const parts = Number(row?.parts ?? 0);
  const findings =
    parts > doctorPartsMax
      ? [
          {
            id: row?.partition ?? '',
            detail: `this month of recording has ${parts} parts: merges fall behind, and pages are slow`,
            remedy: 'give the engine more processors or a faster disk, or send larger batches',
          },
        ]
      : [];
  return hostCheck('parts', findings, [`${parts} parts at most in a month of recording`]);
}

export async function checkRetention(storage: Storage): Promise<Check> {
  const nowMicros = systemClock() - limits.doctorExpiredDaysMax * dayMicros;
  const state = await readControlState(storage);
  const allExpired = state.organizations().flatMap(({ id }) => {
    const beforeMicros = cutOffOf(state.policyOf(id), nowMicros);
    return beforeMicros === undefined ? [] : [{ organization: id, beforeMicros }];
  });
  const found = await new EventRemoval(storage).find(allExpired);
  let events = 0;
  for (const expired of allExpired)
    if (found.has(expired.organization)) events += await countExpired(storage, expired);
  const remedy =
    'start the server if it is not running: it removes them after a day, or its operational log has the reason; rewriting parts needs disk space';
  const detail = `${events} that expired ${limits.doctorExpiredDaysMax} days ago or earlier are still on the disk`;
  return hostCheck('retention', events === 0 ? [] : [{ id: 'events', detail, remedy }]);
}
