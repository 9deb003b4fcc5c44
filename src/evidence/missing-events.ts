import type { DamageRegister } from '../base/observability/damage.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { onReplicas } from '../storage/replica-reads.ts';
import { stillActive } from '../storage/parts.ts';
import type { Storage } from '../storage/storage.ts';
import { entryBytes } from '../tlog/entry.ts';
import { limits } from './limits.ts';
import { readProgress } from './progress-table.ts';

/** By day of expiry (`YYYY-MM-DD`, UTC). */
export interface MissingEvents {
  readonly organization: string;
  readonly events: number;
  readonly days: readonly { readonly expires: string; readonly events: number }[];
}

const numberAt = (type: string, at: number, bytes: number): string =>
  `reinterpretAs${type}(reverse(substring(entry, ${at + 1}, ${bytes})))`;

/** Removed events, or planned ones: a plan is written before its rows are removed. */
const removed =
  '(SELECT org, max(before) AS before, max(below) AS below FROM removals GROUP BY org) AS removed';
const counts =
  'seq < {watermark:UInt64} AND day > toUInt16({today:Date}) AND (micros >= before OR seq >= below)';

const storedRows =
  'SELECT org, seq, toUnixTimestamp64Micro(time) AS micros, toUInt32(toUInt16(expires)) AS day FROM events';

const missingQuery = (
  stored: string,
): string => `SELECT toString(org) AS organization, toString(toDate(toUInt16(day))) AS expires, toString(sum(n)) AS events FROM (
  SELECT org, day, toInt64(count()) AS n FROM (
    SELECT org, ${numberAt('UInt64', 0, 8)} AS seq, ${numberAt('Int64', 8, 8)} AS micros, ${numberAt('UInt32', 16, 4)} AS day
    FROM (SELECT org, arrayJoin(arrayMap(i -> substring(content, 1 + i * ${entryBytes}, 20), range(width))) AS entry
      FROM evidence_tiles FINAL WHERE level = 0)) AS entries LEFT JOIN ${removed} USING org WHERE ${counts} GROUP BY org, day
  UNION ALL SELECT org, day, -toInt64(count()) AS n FROM (${stored}) AS stored LEFT JOIN ${removed} USING org WHERE ${counts} GROUP BY org, day
  UNION ALL SELECT org, toUInt32(toUInt16(expires)) AS day, -toInt64(sum(rows)) AS n
    FROM acknowledged_losses FINAL GROUP BY org, day)
  GROUP BY org, day HAVING sum(n) > 0 ORDER BY organization, day`;

/**
 * `nowMs`: a lower bound of the time; events expired by then do not count. Rejects with EngineError, and with Error while a
 * removal is being planned.
 */
export async function findMissing(storage: Storage, nowMs: number): Promise<MissingEvents[]> {
  const progress = await readProgress(storage);
  if (progress === undefined) return [];
  const plan = await newestPlan(storage);
  const count = (stored: string, suspects: readonly string[] = []) =>
    storage.rows<Record<'organization' | 'expires' | 'events', string>>(
      missingQuery(stored),
      { watermark: progress.watermark, today: new Date(nowMs).toISOString().slice(0, 10), suspects },
      { settings: { max_threads: 1 }, timeoutMs: limits.missingQueryMsMax },
    );
  let rows = await count(storedRows);
  if (rows.length > 0 && (await storage.readSets()) !== undefined) {
    // The replica that was read may lag.
    const suspects = new Set(rows.map(({ organization }) => organization));
    const ofSuspects = `${storedRows} WHERE org IN {suspects:Array(UUID)}`;
    const each = await onReplicas(storage, ofSuspects, 'all');
    const found = await count(`SELECT DISTINCT * FROM (${each})`, [...suspects]);
    rows = found.filter(({ organization }) => suspects.has(organization));
  }
  if (rows.length > 0 && plan !== (await newestPlan(storage)))
    throw new Error('A removal was planned while events were counted');
  return [...new Set(rows.map(({ organization }) => organization))].map((organization) => {
    const own = rows.filter((row) => row.organization === organization);
    const days = own.map(({ expires, events }) => ({ expires, events: Number(events) }));
    return { organization, days, events: days.reduce((sum, { events }) => sum + events, 0) };
  });
}

async function newestPlan(storage: Storage): Promise<string | undefined> {
  const [row] = await storage.rows<{ recorded: string }>('SELECT max(recorded) AS recorded FROM removals');
  return row?.recorded;
}

/** `part`: the detached part, or empty. Resolves when durable. */
export async function acknowledgeMissing(
  storage: Storage,
  id: string,
  part: string,
  missing: readonly MissingEvents[],
): Promise<void> {
  const rows = missing.flatMap(({ organization: org, days }) =>
    days.map(({ expires, events }) => ({ id, part, org, expires, rows: events })),
  );
  await storage.insertRows('acknowledged_losses', rows);
}

export interface AcknowledgedLoss {
  readonly organization: string;
  readonly events: number;
  readonly recorded: string;
}

/** Without events that have expired since, newest first. */
export async function listAcknowledged(storage: Storage): Promise<AcknowledgedLoss[]> {
  const rows = await storage.rows<Record<'organization' | 'n' | 'recorded', string>>(
    `SELECT toString(org) AS organization, sum(rows) AS n, toString(toStartOfSecond(max(l.recorded))) AS recorded
     FROM acknowledged_losses AS l FINAL WHERE expires > today() GROUP BY id, org ORDER BY max(l.recorded) DESC, org`,
  );
  return rows.map(({ organization, n, recorded }) => ({ organization, events: Number(n), recorded }));
}

export interface MissingWatchOptions {
  readonly storage: Storage;
  readonly damage: DamageRegister;
  readonly log: Logger;
  /** Lower bound of the time, Unix milliseconds. */
  nowMs(): number;
  /** Changes when the engine restarts: it may have set parts aside. */
  engineStarts(): number;
}

/** Counts at the start, after each start of the engine, and every hour; more often while some are missing. */
export class MissingWatch {
  readonly #options: MissingWatchOptions;
  readonly #turning: Repeated;
  #seenStarts = -1;
  #nextMs = 0;
  #missing: readonly MissingEvents[] = [];

  constructor(options: MissingWatchOptions) {
    this.#options = options;
    this.#turning = new Repeated(
      limits.missingTurnMs,
      () => this.#turn(),
      (error) => options.log.warn(errorFacts(error), 'Counting stored events failed; will retry'),
    );
  }

  stop(): Promise<void> {
    return this.#turning.stop();
  }

  async #turn(): Promise<void> {
    const { storage, engineStarts, nowMs } = this.#options;
    await this.#forgetInactive();
    const starts = engineStarts();
    if (starts === this.#seenStarts && performance.now() < this.#nextMs) return;
    this.#seenStarts = starts;
    this.#nextMs = performance.now() + limits.missingRetryMs;
    this.#report(await findMissing(storage, nowMs()));
    if (this.#missing.length === 0) this.#nextMs = performance.now() + limits.missingEveryMs;
  }

  #report(missing: readonly MissingEvents[]): void {
    const { damage, log } = this.#options;
    for (const { organization, events } of this.#missing) {
      const now = missing.find((one) => one.organization === organization);
      if (now?.events === events) continue;
      damage.clear('missing_events', organization);
      if (now === undefined)
        log.info({ organization }, 'No stored events of the organization are missing any more');
    }
    for (const { organization, events } of missing) {
      const detail = `${events} stored events of this organization are missing from the table`;
      if (!damage.report({ kind: 'missing_events', id: organization, detail })) continue;
      log.error({ organization, events }, 'Stored events are missing from the table; run `auditlog doctor`');
    }
    this.#missing = missing;
  }

  /** A part that was detached or merged no longer fails reads. */
  async #forgetInactive(): Promise<void> {
    const { storage, damage, log } = this.#options;
    const parts = damage.list().flatMap(({ kind, id }) => (kind === 'unreadable' ? [id] : []));
    if (parts.length === 0) return;
    const active = await stillActive(storage, parts);
    for (const part of parts) {
      if (active.has(part)) continue;
      damage.clear('unreadable', part);
      log.info({ part }, 'A damaged part is no longer in use');
    }
  }
}
