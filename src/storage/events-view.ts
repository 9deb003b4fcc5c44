import { createHash } from 'node:crypto';
import { quoteIdentifier, quoteString } from './quote.ts';
import type { Storage } from './storage.ts';

export interface EventsViewOptions {
  readonly database: string;
  /** What stands before the stored text, which begins with `"time":`; so it opens the object and ends in a comma. */
  readonly head: string;
  /** What follows `"logged_time":<now>`; so it begins with a comma and closes `metadata` and the object. */
  readonly tail: string;
  /** Name of the cluster on whose every node the view is created. */
  readonly cluster?: string | undefined;
}

/**
 * The statements that drop and create the view `ocsf_events` (org, time, seq, event, own), where `event` is one whole
 * audit event as JSON, and `own` tells what the service itself says (contract: Fixed names). The constants are in the view and not in the rows, so it is made again
 * when the product's names have changed. `logged_time` is the moment of the query, in Unix
 * microseconds (contract: Audit event).
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
 * Makes the view for operators where it is missing or another one. What it is made of is in its comment, as a hash:
 * the engine tells a view's statement in its own words. Dropping and creating takes fewer rights than replacing, for
 * which the user would have to be allowed to drop tables. `requireRoom`: as of `migrate`.
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
