import type { Readable } from 'node:stream';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { readEvent, type SourceEvent } from './event.ts';
import type { Store } from './store.ts';

/** Access to ClickHouse, with a database of the peer. */
export interface ClickHouseAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly http_headers: Readonly<Record<string, string>>;
  readonly database: string;
}

/** The columns of the service's table, in the order of pages, with the indexes that ClickHouse's guides advise. */
const schema = [
  'CREATE TABLE keys (digest String, org UUID) ENGINE = MergeTree ORDER BY digest',
  `CREATE TABLE events (
    org UUID, time DateTime64(6, 'UTC'), seq UInt64 DEFAULT generateSnowflakeID(), activity_id Int64,
    activity_name LowCardinality(String), severity LowCardinality(String), status LowCardinality(String),
    level LowCardinality(String), result_code Int64, actor_email String, actor_id String, names Array(String),
    file_hash Array(String), file_name String, target_name String, flow_id UUID, src_ip String, event String, source String,
    INDEX by_actor actor_email TYPE bloom_filter, INDEX by_user actor_id TYPE bloom_filter,
    INDEX by_name names TYPE bloom_filter, INDEX by_hash file_hash TYPE bloom_filter, INDEX by_flow flow_id TYPE bloom_filter
  ) ENGINE = MergeTree PARTITION BY toYYYYMM(time) ORDER BY (org, time, seq)
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
];

/** Resolves once the rows are in a synced part. */
const asyncInsert = {
  async_insert: 1,
  wait_for_async_insert: 1,
  date_time_input_format: 'best_effort',
} as const;

const csvColumns = `
  toUnixTimestamp64Micro(time) AS time, events.time AS time_iso, activity_id, activity_name, severity, status,
  JSONExtractString(event, 'status_detail') AS status_detail, JSONExtractString(event, 'message') AS message,
  JSONExtractString(event, 'actor', 'user', 'name') AS actor_name,
  JSONExtractString(event, 'actor', 'user', 'email_addr') AS actor_email,
  JSONExtractString(event, 'actor', 'user', 'type') AS actor_type, src_ip,
  JSONExtractRaw(event, 'src_endpoint', 'port') AS src_port, flow_id, target_name, file_name,
  JSONExtractRaw(event, 'extra_map') AS extra_map`;

export async function openClickHouse(access: ClickHouseAccess): Promise<Store> {
  const { database, ...server } = access;
  const setUp = createClient(server);
  await setUp.command({ query: `CREATE DATABASE ${database}` });
  await setUp.close();
  const client = createClient({
    ...access,
    max_open_connections: 16,
    log: { level: ClickHouseLogLevel.OFF },
  });
  for (const query of schema) await client.command({ query });

  async function rows<T>(query: string, query_params: Record<string, unknown>): Promise<T[]> {
    const result = await client.query({ query, query_params, format: 'JSONEachRow' });
    return result.json<T>();
  }

  return {
    async addKey(digest, org) {
      await client.insert({ table: 'keys', values: [{ digest, org }], format: 'JSONEachRow' });
    },
    async organizationOf(digest) {
      const sql = 'SELECT org FROM keys WHERE digest = {digest:String} LIMIT 1';
      return (await rows<{ org: string }>(sql, { digest }))[0]?.org;
    },
    async append(organization, events) {
      const values = events.map((event) => rowOf(organization, event));
      await client.insert({
        table: 'events',
        values,
        format: 'JSONEachRow',
        clickhouse_settings: asyncInsert,
      });
    },
    async page(org, { limit, offset, actor, flowId }) {
      let where = 'org = {org:UUID}';
      if (actor !== undefined) where += ' AND actor_email = {actor:String}';
      if (flowId !== undefined) where += ' AND flow_id = {flowId:UUID}';
      const values = { org, actor: actor?.toLowerCase(), flowId, limit, offset };
      const [page, count] = await Promise.all([
        rows<{ event: string }>(
          `SELECT event FROM events WHERE ${where} ORDER BY time DESC, seq DESC LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
          values,
        ),
        rows<{ total: string }>(`SELECT count() AS total FROM events WHERE ${where}`, values),
      ]);
      return { events: page.map(({ event }) => event), total: Number(count[0]?.total ?? 0) };
    },
    async csv(org): Promise<Readable> {
      const query = `SELECT ${csvColumns} FROM events WHERE org = {org:UUID} ORDER BY events.time DESC, seq DESC FORMAT CSVWithNames`;
      return (await client.exec({ query, query_params: { org } })).stream;
    },
  };
}

function rowOf(org: string, source: SourceEvent) {
  const { time, shown, level, resultCode, actorEmail, actorId, names, hashes, fileName, targetName } =
    readEvent(source);
  return {
    org,
    time,
    activity_id: shown.activity_id,
    activity_name: shown.activity_name,
    severity: shown.severity,
    status: shown.status,
    level,
    result_code: resultCode,
    actor_email: actorEmail,
    actor_id: actorId,
    names,
    file_hash: hashes,
    file_name: fileName,
    target_name: targetName,
    flow_id: shown.flow_id,
    src_ip: shown.src_endpoint?.ip,
    event: JSON.stringify(shown),
    source: JSON.stringify(source),
  };
}
