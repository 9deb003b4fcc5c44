import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { readEvent, type SourceEvent } from './event.ts';
import type { Store } from './store.ts';

/** Columns for the filters and the event as `json`, batches by COPY, an index in the order of pages. */
const schema = `
  CREATE TABLE keys (digest text PRIMARY KEY, org uuid NOT NULL);
  CREATE TABLE events (
    org uuid NOT NULL, time timestamptz NOT NULL, seq bigserial NOT NULL,
    actor_email text, names text[], file_name text, target_name text, flow_id uuid, event json NOT NULL
  );
  CREATE INDEX ON events (org, time DESC, seq DESC);
  CREATE INDEX ON events (org, actor_email, time DESC, seq DESC);
  CREATE INDEX ON events (org, flow_id) WHERE flow_id IS NOT NULL;
  CREATE INDEX ON events USING gin (names);
`;

const csvColumns = `
  event->>'time' AS time, time AS time_iso, event->>'activity_id' AS activity_id,
  event->>'activity_name' AS activity_name, event->>'severity' AS severity, event->>'status' AS status,
  event->>'status_detail' AS status_detail, event->>'message' AS message,
  event->'actor'->'user'->>'name' AS actor_name, event->'actor'->'user'->>'email_addr' AS actor_email,
  event->'actor'->'user'->>'type' AS actor_type, event->'src_endpoint'->>'ip' AS src_ip,
  event->'src_endpoint'->>'port' AS src_port, flow_id, target_name, file_name, event->>'extra_map' AS extra_map`;

const uuid = /^[\da-f-]{36}$/i;

export async function openPostgres(connectionString: string): Promise<Store> {
  const pool = new Pool({ connectionString, max: 16 });
  await pool.query(schema);
  return {
    async addKey(digest, organization) {
      await pool.query('INSERT INTO keys VALUES ($1, $2)', [digest, organization]);
    },
    async organizationOf(digest) {
      const result = await pool.query<{ org: string }>('SELECT org FROM keys WHERE digest = $1', [digest]);
      return result.rows[0]?.org;
    },
    async append(organization, events) {
      const client = await pool.connect();
      try {
        const copy = client.query(
          copyFrom(
            'COPY events (org, time, actor_email, names, file_name, target_name, flow_id, event) FROM STDIN',
          ),
        );
        await pipeline(Readable.from([events.map((event) => copyRow(organization, event)).join('')]), copy);
      } finally {
        client.release();
      }
    },
    async page(organization, { limit, offset, actor, flowId }) {
      const values: unknown[] = [organization];
      let where = 'org = $1';
      if (actor !== undefined) where += ` AND actor_email = $${values.push(actor.toLowerCase())}`;
      if (flowId !== undefined) where += ` AND flow_id = $${values.push(flowId)}`;
      const [page, count] = await Promise.all([
        pool.query<{ event: string }>({
          name: `page-${where}`,
          // As text: the server has no use for the event as an object.
          text: `SELECT event::text AS event FROM events WHERE ${where} ORDER BY org, time DESC, seq DESC LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
          values: [...values, limit, offset],
        }),
        pool.query<{ total: string }>({
          name: `count-${where}`,
          text: `SELECT count(*) AS total FROM events WHERE ${where}`,
          values,
        }),
      ]);
      return { events: page.rows.map(({ event }) => event), total: Number(count.rows[0]?.total ?? 0) };
    },
    async csv(organization) {
      if (!uuid.test(organization)) throw new Error('not an id of an organization');
      const client = await pool.connect();
      const rows = client.query(
        // COPY takes no parameters.
        copyTo(
          `COPY (SELECT ${csvColumns} FROM events WHERE org = '${organization}' ORDER BY org, time DESC, seq DESC)
           TO STDOUT WITH (FORMAT csv, HEADER)`,
        ),
      );
      rows.once('close', () => client.release());
      return rows;
    },
  };
}

/** COPY's text format: tabs between columns, backslash escapes, \N for NULL. */
function copyText(text: string | undefined): string {
  if (text === undefined) return String.raw`\N`;
  return text.replace(
    /[\\\n\r\t]/g,
    (character) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })[character] ?? character,
  );
}

function copyRow(organization: string, source: SourceEvent): string {
  const { time, shown, actorEmail, names, fileName, targetName } = readEvent(source);
  const list = names.map((name) => `"${name.replace(/["\\]/g, String.raw`\$&`)}"`).join(',');
  const columns = [
    organization,
    time,
    actorEmail,
    `{${list}}`,
    fileName,
    targetName,
    shown.flow_id,
    JSON.stringify(shown),
  ];
  return `${columns.map(copyText).join('\t')}\n`;
}
