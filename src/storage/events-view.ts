import { createHash } from 'node:crypto';
import { quoteIdentifier, quoteString } from './quote.ts';
import type { Storage } from './storage.ts';

export interface EventsViewOptions {
  readonly database: string;
  /** Precedes the stored text, which begins with `"time":`: opens the object and ends in a comma. */
  readonly head: string;
  /** Follows `"logged_time":<now>`: begins with a comma, and closes `metadata` and the object. */
  readonly tail: string;
  readonly cluster?: string | undefined;
}

/**
 * The view `ocsf_events`: `event` is the whole audit event as JSON, `own` marks the service's own (contract: Fixed names).
 * `logged_time` is the time of the query (Unix microseconds).
 */
export function eventsView(options: EventsViewOptions): { drop: string; create: string } {
  const database = quoteIdentifier(options.database);
  const onCluster = options.cluster === undefined ? '' : ` ON CLUSTER ${quoteIdentifier(options.cluster)}`;
  const loggedTime = 'toString(toUnixTimestamp64Micro(now64(6)))';
  const parts = [
    quoteString(options.head),
    'ocsf',
    `'"logged_time":'`,
    loggedTime,
    quoteString(options.tail),
  ];
  return {
    drop: `DROP VIEW IF EXISTS ${database}.ocsf_events${onCluster}`,
    create: `CREATE VIEW IF NOT EXISTS ${database}.ocsf_events${onCluster}
(org UUID, time DateTime64(6, 'UTC'), seq UInt64, event String, own Bool)
AS SELECT org, time, seq, concat(${parts.join(', ')}) AS event, own FROM ${database}.events`,
  };
}

/**
 * Replaces the view for operators if its definition changed. Its comment has a hash of it, as the engine rephrases statements.
 * Drop and create need fewer rights than replace. `requireRoom`: as of `migrate`.
 */
export async function keepEventsView(
  storage: Storage,
  options: EventsViewOptions,
  requireRoom?: () => Promise<void>,
): Promise<void> {
  const { drop, create } = eventsView(options);
  const comment = `definition ${createHash('sha256').update(create).digest('hex')}`;
  const [found] = await storage.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = {database:String} AND name = 'ocsf_events'",
    { database: options.database },
  );
  if (found?.comment === comment) return;
  await requireRoom?.();
  await storage.command(drop);
  await storage.command(`${create}\nCOMMENT '${comment}'`);
}
