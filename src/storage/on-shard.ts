import { quoteIdentifier, quoteString } from './quote.ts';
import type { Storage } from './storage.ts';

const table = / FROM events\b/g;

/**
 * A query that reads the events of the organization `{org:UUID}` in several places, as one that sees one moment of the
 * table. On one engine it is that by itself. On a cluster each place would be a read of its own, so what arrives between
 * the count and the rows would be in one of them only; instead the whole query is handed to the shard that has the
 * organization:
 *
 *     SELECT … FROM cluster(…, view(query, over events_local), the sharding key) WHERE the organization
 *
 * The query says `FROM events`, gives every column a name, and has no FORMAT and no SETTINGS at its end.
 */
export function onShard({ cluster, database }: Pick<Storage, 'cluster' | 'database'>, query: string): string {
  if (cluster === undefined) return query;
  const local = query.replaceAll(table, ` FROM ${quoteIdentifier(database)}.events_local`);
  return (
    `SELECT * EXCEPT shard_org FROM cluster(${quoteString(cluster)}, ` +
    `view(SELECT *, {org:UUID} AS shard_org FROM (${local})), cityHash64(shard_org)) WHERE shard_org = {org:UUID}`
  );
}
