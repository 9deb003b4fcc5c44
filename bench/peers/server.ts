import { createHash } from 'node:crypto';
import { fastify } from 'fastify';
import { type ClickHouseAccess, openClickHouse } from './clickhouse-store.ts';
import { eventSchema, type SourceEvent } from './event.ts';
import { openPostgres } from './postgres-store.ts';
import type { Store } from './store.ts';

/**
 * The same writes and reads in a usual build: Fastify in front of PostgreSQL or ClickHouse, JSON parsed by the platform and validated
 * by Fastify's compiled schema, pages with the exact total. It answers 202 once the events are on the disk, like the service.
 * Arguments: the name of a store, and its access as JSON. Prints its port, and ends when its input ends.
 */
const [name, access = '""'] = process.argv.slice(2);
const stores: Readonly<Record<string, () => Promise<Store>>> = {
  postgres: () => openPostgres(JSON.parse(access) as string),
  clickhouse: () => openClickHouse(JSON.parse(access) as ClickHouseAccess),
};
const open = stores[name ?? ''];
if (open === undefined) throw new Error(`no store is named ${name}`);
const store = await open();
const app = fastify({ bodyLimit: 64 * 1024 * 1024 });

const organizations = new Map<string, string>();

const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');

async function organizationOf(key: unknown): Promise<string | undefined> {
  const digest = digestOf(String(key));
  const org = organizations.get(digest) ?? (await store.organizationOf(digest));
  if (org !== undefined) organizations.set(digest, org);
  return org;
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
    const org = await organizationOf(request.headers['x-api-key']);
    if (org === undefined) return reply.code(401).send();
    await store.append(org, request.body);
    return reply.code(202).send({ accepted: request.body.length, rejected: 0, errors: [] });
  },
);

app.get<{ Querystring: { limit?: string; offset?: string; actor?: string; flowId?: string } }>(
  '/api/v1/audit',
  async (request, reply) => {
    const org = await organizationOf(request.headers['x-api-key']);
    if (org === undefined) return reply.code(401).send();
    const { actor, flowId } = request.query;
    const [limit, offset] = [Number(request.query.limit ?? 50), Number(request.query.offset ?? 0)];
    const { events, total } = await store.page(org, { limit, offset, actor, flowId });
    reply.header('Content-Type', 'application/json');
    return `{"data":[${events.join(',')}],"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`;
  },
);

app.get('/api/v1/audit/export', async (request, reply) => {
  const org = await organizationOf(request.headers['x-api-key']);
  if (org === undefined) return reply.code(401).send();
  return reply.header('Content-Type', 'text/csv').send(await store.csv(org));
});

app.put<{ Params: { key: string; org: string } }>('/keys/:key/:org', async (request, reply) => {
  await store.addKey(digestOf(request.params.key), request.params.org);
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
