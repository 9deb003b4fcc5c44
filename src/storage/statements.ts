/** A SQL string literal. For text that cannot be bound as a parameter, such as a view's; values are always bound. */
export function quoteString(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replaceAll('\0', '\\x00');
  return `'${escaped}'`;
}

/** A SQL identifier, such as a database's name from configuration. */
export function quoteIdentifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

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
 * The statements that drop and create the view `ocsf_events` (org, time, seq, event), where `event` is one whole
 * audit event as JSON (contract: Fixed names). The constants are in the view and not in the rows, so it is made again
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
(org UUID, time DateTime64(6, 'UTC'), seq UInt64, event String)
AS SELECT org, time, seq, concat(${parts.join(', ')}) AS event FROM ${database}.events`,
  };
}
