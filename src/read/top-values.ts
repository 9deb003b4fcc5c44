import { activityTitles } from '../ocsf/activities.ts';
import type { Answer, Schemas } from '../contract/document.ts';
import { limits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, type Where, whereClause } from './filter.ts';
import { lastMember, sourceMessage, textIn } from './last-member.ts';
import { anyNumber } from './moments.ts';
import { type Seen, seenColumns, seenTimes } from './seen.ts';
import { sideBySide } from './side-by-side.ts';

/** Each list by frequency, then code or text. All severities and statuses are listed, as they are few. */
export type TopValues = Answer<'TopValues'>['data'];
type TopSeverity = Schemas['TopValues']['data']['severities'][number];

/** Rejects with EngineError. `organization` is a lower-case UUID; `limit` bounds each list. */
export type TopValuesReader = (
  organization: string,
  filter: AuditFilter,
  limit: number,
  signal: AbortSignal,
) => Promise<TopValues>;

const spilling = { max_bytes_before_external_group_by: limits.readSpillBytes };

export function createTopValuesReader(storage: Storage): TopValuesReader {
  return (organization, filter, limit, signal) => {
    const where = whereClause(organization, filter);
    return sideBySide(signal, async (stop) => {
      const [activities, actors, addresses, few] = await Promise.all([
        readActivities(storage, where, limit, stop),
        readActors(storage, where, limit, stop),
        readValues(storage, where, { column: 'src_ip', none: "toIPv6('::')" }, limit, stop),
        readFew(storage, where, stop),
      ]);
      return {
        activities,
        actors: actors.list,
        addresses: addresses.values.map(({ value, total, ...seen }) => ({
          ip: value.replace(/^::ffff:(?=.*\.)/, ''),
          count: Number(total),
          ...seenTimes(seen),
        })),
        ...few,
        without: { actor: actors.without, ip: addresses.without },
      };
    });
  };
}

/**
 * A registered code has its registered title; another one its most frequent title. Grouping by hashes of titles takes half as
 * long.
 */
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
    activity_name: activityTitles.get(Number(row.activity_id)) ?? row.name,
    count: Number(row.total),
  }));
}

interface Value extends Seen {
  readonly value: string;
  readonly hash: string;
  readonly total: string;
}

/** Also the number of events without a value, whose value is `none` and whose group sorts first. */
async function readValues(
  storage: Storage,
  where: Where,
  { column, none }: { readonly column: string; readonly none: string },
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly values: readonly Value[]; readonly without: number }> {
  const rows = await storage.rows<Value & { readonly is_none: number }>(
    `SELECT toString(${column}) AS value, sipHash64(${column}) AS hash, ${column} = ${none} AS is_none, count() AS total,
       ${seenColumns}
     FROM events WHERE ${where.sql} GROUP BY ${column}
     ORDER BY is_none DESC, total DESC, ${column} LIMIT {top:UInt64} + 1`,
    { ...where.parameters, top: limit },
    { settings: spilling, signal },
  );
  return {
    values: rows.filter(({ is_none }) => is_none === 0).slice(0, limit),
    without: Number(rows.find(({ is_none }) => is_none === 1)?.total ?? 0),
  };
}

/**
 * Finds an actor's newest event by its time alone: searching pairs takes five times as long. Addresses travel as hashes, as they
 * may exceed the 128 KiB of a parameter.
 */
async function readActors(storage: Storage, where: Where, limit: number, signal: AbortSignal) {
  const column = { column: 'actor_email', none: "''" };
  const { values, without } = await readValues(storage, where, column, limit, signal);
  const newest = {
    newest: values.map(({ last }) => BigInt(last)),
    actors: values.map(({ hash }) => BigInt(hash)),
  };
  const names = await storage.rows<{ actor_email: string; name: string }>(
    `SELECT actor_email, argMax(${textIn(lastMember(lastMember(sourceMessage, 'actor'), 'name'))}, seq) AS name FROM events
     WHERE ${where.sql} AND (time, sipHash64(actor_email)) IN (
       SELECT fromUnixTimestamp64Micro(one.1, 'UTC'), one.2
       FROM (SELECT arrayJoin(arrayZip({newest:Array(Int64)}, {actors:Array(UInt64)})) AS one)
     ) GROUP BY actor_email`,
    { ...where.parameters, ...newest },
    { settings: anyNumber, signal },
  );
  const nameOf = new Map(names.map(({ actor_email, name }) => [actor_email, name]));
  const list = values.map(({ value, total, ...seen }) => ({
    email_addr: value,
    name: nameOf.get(value) || undefined,
    count: Number(total),
    ...seenTimes(seen),
  }));
  return { list, without };
}

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
