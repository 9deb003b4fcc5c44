import type { Answer, Schemas } from '../contract/document.ts';
import { limits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, type Where, whereClause } from './filter.ts';
import { momentKey, readAtMoments } from './moments.ts';
import { sideBySide } from './side-by-side.ts';

/** Each list most frequent first, equals by code or text. Severities and statuses are few, so all of them are there. */
export type TopValues = Answer<'TopValues'>['data'];
type TopSeverity = Schemas['TopValues']['data']['severities'][number];
type TopStatus = Schemas['TopValues']['data']['statuses'][number];

/** Rejects with EngineError. `organization` is a lower-case UUID; `limit` bounds each list. */
export type TopValuesReader = (
  organization: string,
  filter: AuditFilter,
  limit: number,
  signal: AbortSignal,
) => Promise<TopValues>;

/** Producers choose codes and addresses, so there may be millions: grouping spills to disk instead of growing. */
const spilling = { max_bytes_before_external_group_by: limits.readSpillBytes };

/** Reads what is most frequent among matching events (for the portal), from narrow columns. */
export function createTopValuesReader(storage: Storage): TopValuesReader {
  return (organization, filter, limit, signal) => {
    const where = whereClause(organization, filter);
    return sideBySide(signal, async (stop) => {
      const [activities, actors, severities, statuses] = await Promise.all([
        readActivities(storage, where, limit, stop),
        readActors(storage, organization, where, limit, stop),
        readFew<TopSeverity>(storage, 'severity', where, stop),
        readFew<TopStatus>(storage, 'status', where, stop),
      ]);
      return { activities, actors, severities, statuses };
    });
  };
}

async function readActivities(
  storage: Storage,
  where: Where,
  limit: number,
  signal: AbortSignal,
): Promise<TopValues['activities']> {
  const rows = await storage.rows<{ activity_id: string; name: string; total: string }>(
    `SELECT activity_id, argMax(activity_name, (events_of_name, activity_name)) AS name,
       sum(events_of_name) AS total
     FROM (
       SELECT activity_id, activity_name, count() AS events_of_name FROM events WHERE ${where.sql}
       GROUP BY activity_id, activity_name
     )
     GROUP BY activity_id ORDER BY total DESC, activity_id LIMIT {top:UInt64}`,
    { ...where.parameters, top: limit },
    { settings: spilling, signal },
  );
  return rows.map((row) => ({
    activity_id: Number(row.activity_id),
    activity_name: row.name,
    count: Number(row.total),
  }));
}

async function readActors(
  storage: Storage,
  organization: string,
  where: Where,
  limit: number,
  signal: AbortSignal,
): Promise<TopValues['actors']> {
  const rows = await storage.rows<{ actor_email: string; total: string; micros: string; seq: string }>(
    `SELECT actor_email, total, toUnixTimestamp64Micro(newest.1) AS micros, newest.2 AS seq
     FROM (
       SELECT actor_email, count() AS total, max((time, seq)) AS newest FROM events
       WHERE ${where.sql} AND actor_email != ''
       GROUP BY actor_email ORDER BY total DESC, actor_email LIMIT {top:UInt64}
     )
     ORDER BY total DESC, actor_email`,
    { ...where.parameters, top: limit },
    { settings: spilling, signal },
  );
  const names = await readAtMoments<{ name: string }>(
    storage,
    organization,
    rows,
    "JSONExtractString(source, 'message', 'actor', 'name') AS name",
    signal,
  );
  return rows.map((row) => ({
    email_addr: row.actor_email,
    name: names.get(momentKey(row))?.name || undefined,
    count: Number(row.total),
  }));
}

/**
 * Every value of a column that has few of them. The count comes as a float, which is exact so far, since the engine
 * quotes integers of 64 bits.
 */
function readFew<Counted extends TopSeverity | TopStatus>(
  storage: Storage,
  column: Exclude<keyof Counted, 'count'> & string,
  where: Where,
  signal: AbortSignal,
): Promise<Counted[]> {
  return storage.rows<Counted>(
    `SELECT ${column}, toFloat64(count()) AS count FROM events WHERE ${where.sql}
     GROUP BY ${column} ORDER BY count DESC, ${column}`,
    where.parameters,
    { signal },
  );
}
