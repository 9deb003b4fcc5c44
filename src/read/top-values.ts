import { lastMember, sourceMember, textIn } from './last-member.ts';
import type { Answer, Schemas } from '../contract/document.ts';
import { limits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, type Where, whereClause } from './filter.ts';
import { anyNumber } from './moments.ts';
import { sideBySide } from './side-by-side.ts';

/** Each list most frequent first, equals by code or text. Severities and statuses are few, so all of them are there. */
export type TopValues = Answer<'TopValues'>['data'];
type TopSeverity = Schemas['TopValues']['data']['severities'][number];

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
      const [activities, actors, few] = await Promise.all([
        readActivities(storage, where, limit, stop),
        readActors(storage, where, limit, stop),
        readFew(storage, where, stop),
      ]);
      return { activities, actors, ...few };
    });
  };
}

/** Titles go by their hashes: to group by numbers alone takes the engine half as long. */
async function readActivities(
  storage: Storage,
  where: Where,
  limit: number,
  signal: AbortSignal,
): Promise<TopValues['activities']> {
  const rows = await storage.rows<{ activity_id: string; name: string; total: string }>(
    `SELECT activity_id, argMax(title, (events_of_title, title)) AS name, sum(events_of_title) AS total
     FROM (
       SELECT activity_id, any(activity_name) AS title, count() AS events_of_title
       FROM events WHERE ${where.sql} GROUP BY activity_id, sipHash64(activity_name)
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

/**
 * The newest of an actor's events is found by its time alone: that of pairs takes the engine five times as long. Addresses
 * go by their hashes: producers make them as long as they like, and a parameter has no more than 128 KiB.
 */
async function readActors(
  storage: Storage,
  where: Where,
  limit: number,
  signal: AbortSignal,
): Promise<TopValues['actors']> {
  const rows = await storage.rows<{ actor_email: string; hash: string; total: string; micros: string }>(
    `SELECT actor_email, sipHash64(actor_email) AS hash, count() AS total, toUnixTimestamp64Micro(max(time)) AS micros FROM events
     WHERE ${where.sql} AND actor_email != ''
     GROUP BY actor_email ORDER BY total DESC, actor_email LIMIT {top:UInt64}`,
    { ...where.parameters, top: limit },
    { settings: spilling, signal },
  );
  const newest = {
    newest: rows.map(({ micros }) => BigInt(micros)),
    actors: rows.map(({ hash }) => BigInt(hash)),
  };
  const names = await storage.rows<{ actor_email: string; name: string }>(
    `SELECT actor_email, argMax(${textIn(lastMember(lastMember(sourceMember('message'), 'actor'), 'name'))}, seq) AS name FROM events
     WHERE ${where.sql} AND (time, sipHash64(actor_email)) IN (
       SELECT fromUnixTimestamp64Micro(one.1, 'UTC'), one.2
       FROM (SELECT arrayJoin(arrayZip({newest:Array(Int64)}, {actors:Array(UInt64)})) AS one)
     ) GROUP BY actor_email`,
    { ...where.parameters, ...newest },
    { settings: anyNumber, signal },
  );
  const nameOf = new Map(names.map(({ actor_email, name }) => [actor_email, name]));
  return rows.map((row) => ({
    email_addr: row.actor_email,
    name: nameOf.get(row.actor_email) || undefined,
    count: Number(row.total),
  }));
}

/** Every severity and every status, of one look at both. */
async function readFew(
  storage: Storage,
  where: Where,
  signal: AbortSignal,
): Promise<Pick<TopValues, 'severities' | 'statuses'>> {
  const rows = await storage.rows<{ severity: TopSeverity['severity']; total: string; failures: string }>(
    `SELECT severity, count() AS total, countIf(status = 'Failure') AS failures FROM events WHERE ${where.sql}
     GROUP BY severity ORDER BY total DESC, severity`,
    where.parameters,
    { signal },
  );
  const severities = rows.map(({ severity, total }) => ({ severity, count: Number(total) }));
  const all = severities.reduce((sum, { count }) => sum + count, 0);
  const failures = rows.reduce((sum, row) => sum + Number(row.failures), 0);
  const statuses = [
    { status: 'Failure' as const, count: failures },
    { status: 'Success' as const, count: all - failures },
  ];
  return {
    severities,
    statuses: statuses.filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count),
  };
}
