import { fastify } from 'fastify';
import { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { createHash } from 'node:crypto';

/**
 * The same write and the same read as a usual build has them: Fastify in front of PostgreSQL, JSON parsed by the
 * platform, validated by Fastify's compiled schema, stored as columns for the filters and the event as `json`, batches
 * by COPY, pages by an index in their order with the exact total beside. Answers 202 after the commit, which is as
 * durable as the service's. Takes PostgreSQL's address in its first argument, prints its port, ends with its input.
 */
const [connectionString = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString, max: 16 });
const app = fastify({ bodyLimit: 64 * 1024 * 1024 });

interface SourceEvent {
  readonly time?: string;
  readonly level?: string;
  readonly msg?: string;
  readonly message: {
    readonly timestamp?: string;
    readonly actor?:
      | string
      | { readonly id?: string; readonly name?: string; readonly email?: string; readonly type?: string };
    readonly action: number | { readonly code: number; readonly title?: string };
    readonly target?: string | { readonly name?: string };
    readonly result?: { readonly title?: string; readonly description?: string; readonly code?: number };
    readonly remote?: { readonly ip?: string; readonly port?: number };
    readonly sender?: { readonly file?: string };
    readonly extra?: Readonly<Record<string, unknown>>;
    readonly flow_id?: string;
  };
}

const eventSchema = {
  type: 'object',
  required: ['message'],
  properties: {
    message: { type: 'object', required: ['action'], properties: { extra: { type: 'object' } } },
  },
} as const;

await pool.query(`
  CREATE TABLE keys (digest text PRIMARY KEY, org uuid NOT NULL);
  CREATE TABLE events (
    org uuid NOT NULL, time timestamptz NOT NULL, seq bigserial NOT NULL,
    actor_email text, names text[], flow_id uuid, event json NOT NULL
  );
  CREATE INDEX ON events (org, time DESC, seq DESC);
  CREATE INDEX ON events (org, actor_email, time DESC, seq DESC);
  CREATE INDEX ON events (org, flow_id) WHERE flow_id IS NOT NULL;
  CREATE INDEX ON events USING gin (names);
`);

const organizations = new Map<string, string>();

async function organizationOf(key: string): Promise<string | undefined> {
  const digest = createHash('sha256').update(key).digest('hex');
  let org = organizations.get(digest);
  if (org === undefined) {
    org = (await pool.query<{ org: string }>('SELECT org FROM keys WHERE digest = $1', [digest])).rows[0]
      ?.org;
    if (org !== undefined) organizations.set(digest, org);
  }
  return org;
}

function auditEvent({ level, msg, message }: SourceEvent, time: string): object {
  const { actor, action, result, remote, extra, flow_id } = message;
  const code = typeof action === 'number' ? action : action.code;
  const failed = (result?.code ?? 200) >= 400;
  const user =
    typeof actor === 'string'
      ? { email_addr: actor }
      : actor && { name: actor.name, email_addr: actor.email, type: actor.type };
  return {
    category_name: 'Audit',
    category_uid: 3,
    class_name: 'Application Activity',
    class_uid: 3001,
    type_uid: 300_101,
    time: Date.parse(time) * 1000,
    activity_id: code,
    activity_name: typeof action === 'number' ? `Activity ${code}` : action.title,
    severity: level === 'ERROR' ? 'High' : level === 'WARN' ? 'Medium' : 'Informational',
    severity_id: level === 'ERROR' ? 4 : level === 'WARN' ? 3 : 1,
    status: failed ? 'Failure' : 'Success',
    status_id: failed ? 2 : 1,
    message: msg ?? result?.title,
    actor: { user, app_name: 'Audit Log Service' },
    src_endpoint: remote,
    flow_id,
    enrichments: Object.entries(extra ?? {}).map(([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
    extra_map: extra,
    metadata: { product: { name: 'Audit Log Service', vendor_name: 'Audit Log Service' }, version: '1.1.0' },
  };
}

/** COPY's text format: tabs between columns, backslash escapes, \N for NULL. */
function copyText(text: string | undefined): string {
  if (text === undefined) return String.raw`\N`;
  return text.replace(
    /[\\\n\r\t]/g,
    (found) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })[found] ?? found,
  );
}

function copyRow(org: string, event: SourceEvent): string {
  const { actor, target, sender, flow_id, timestamp } = event.message;
  const time = timestamp ?? event.time ?? new Date().toISOString();
  const email = (typeof actor === 'string' ? actor : actor?.email)?.toLowerCase();
  const names = [sender?.file, typeof target === 'string' ? target : target?.name]
    .filter((name): name is string => name !== undefined)
    .map((name) => `"${name.toLowerCase().replace(/["\\]/g, String.raw`\$&`)}"`);
  const columns = [
    org,
    time,
    email,
    `{${names.join(',')}}`,
    flow_id,
    JSON.stringify(auditEvent(event, time)),
  ];
  return `${columns.map(copyText).join('\t')}\n`;
}

async function store(org: string, events: readonly SourceEvent[]): Promise<void> {
  const client = await pool.connect();
  try {
    const copy = client.query(
      copyFrom('COPY events (org, time, actor_email, names, flow_id, event) FROM STDIN'),
    );
    await pipeline(Readable.from([events.map((event) => copyRow(org, event)).join('')]), copy);
  } finally {
    client.release();
  }
}

app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_request, body, done) => {
  const lines = String(body)
    .split('\n')
    .filter((line) => line !== '');
  done(
    null,
    lines.map((line): unknown => JSON.parse(line)),
  );
});

app.post<{ Body: SourceEvent[] }>(
  '/api/v1/audit',
  { schema: { body: { type: 'array', items: eventSchema } } },
  async (request, reply) => {
    const org = await organizationOf(String(request.headers['x-api-key']));
    if (org === undefined) return reply.code(401).send();
    await store(org, request.body);
    return reply.code(202).send({ accepted: request.body.length, rejected: 0, errors: [] });
  },
);

app.get<{ Querystring: { limit?: string; offset?: string; actor?: string; flowId?: string } }>(
  '/api/v1/audit',
  async (request, reply) => {
    const org = await organizationOf(String(request.headers['x-api-key']));
    if (org === undefined) return reply.code(401).send();
    const { limit = '50', offset = '0', actor, flowId } = request.query;
    const values: unknown[] = [org];
    let where = 'org = $1';
    if (actor !== undefined) where += ` AND actor_email = $${values.push(actor.toLowerCase())}`;
    if (flowId !== undefined) where += ` AND flow_id = $${values.push(flowId)}`;
    const [page, count] = await Promise.all([
      pool.query<{ event: string }>({
        name: `page-${where}`,
        // As text: the server has no use for the event as an object.
        text: `SELECT event::text AS event FROM events WHERE ${where} ORDER BY org, time DESC, seq DESC LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
        values: [...values, Number(limit), Number(offset)],
      }),
      pool.query<{ total: string }>({
        name: `count-${where}`,
        text: `SELECT count(*) AS total FROM events WHERE ${where}`,
        values,
      }),
    ]);
    const total = Number(count.rows[0]?.total ?? 0);
    const data = page.rows.map(({ event }) => event).join(',');
    reply.header('Content-Type', 'application/json');
    return `{"data":[${data}],"meta":{"total":${total},"limit":${Number(limit)},"offset":${Number(offset)}}}`;
  },
);

app.put<{ Params: { key: string; org: string } }>('/keys/:key/:org', async (request, reply) => {
  const digest = createHash('sha256').update(request.params.key).digest('hex');
  await pool.query('INSERT INTO keys VALUES ($1, $2)', [digest, request.params.org]);
  return reply.code(204).send();
});

app.setErrorHandler((error, _request, reply) => {
  process.stderr.write(`${String(error)}\n`);
  return reply.code(500).send();
});

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
