import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createClient } from '../../src/client/client.ts';
import { acme } from '../../src/demo/acme.ts';
import { demoEvents } from '../../src/demo/events.ts';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import type { OcsfEvent } from '../ocsf/ocsf110-support.ts';
import {
  acceptedOf,
  type AuditEvent,
  call,
  eventually,
  type HttpAnswer,
  problemOf,
} from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, type SharedServer, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

/** All reads with `schema=ocsf` (contract: OCSF 1.1.0): the events of the default schema, each valid OCSF. */

type Query = Readonly<Record<string, string>>;

const count = 250;
let server: SharedServer;
let tenant: Tenant;
let directory: string;

before(async () => {
  server = await sharedServer();
  directory = await temporaryDirectory();
  tenant = await createTenant(server, 'acme');
  const lines = [...demoEvents({ profile: acme, count, endMicros: 1_790_000_000_000_000, seed: 5 })];
  const odd = {
    time: '2026-09-01T00:00:00.000001Z',
    message: { action: 77, extra: { n: '@', text: '"\\\u2028é😀' }, target: 't' },
    own: null,
  };
  lines.push(JSON.stringify(odd).replace('"@"', '12345678901234567890.10'));
  acceptedOf(await tenant.post(lines.join('\n'), { 'content-type': 'application/x-ndjson' }));
  await tenant.settled(count + 1);
});
after(() => removeDirectory(directory));

const get = (path: string, query: Query = {}, key = tenant.key): Promise<HttpAnswer> =>
  call(`${server.url}${path}?${new URLSearchParams(query).toString()}`, { headers: { 'x-api-key': key } });

interface Answer<E> {
  readonly data: readonly E[];
  readonly meta: Readonly<Record<string, unknown>>;
}

async function page<E = OcsfEvent>(query: Query, path = '/api/v1/audit'): Promise<Answer<E>> {
  const answer = await get(path, query);
  assert.equal(answer.status, 200, answer.text.slice(0, 500));
  return JSON.parse(answer.text) as Answer<E>;
}

const idOf = ({ metadata }: OcsfEvent): string => metadata.uid as string;

function valid(events: readonly OcsfEvent[]): readonly OcsfEvent[] {
  for (const event of events) assert.deepEqual(validateEvent(event), [], JSON.stringify(event));
  return events;
}

/** Compares events of OCSF with those of the default schema, in the same order. */
function sameEvents(events: readonly OcsfEvent[], expected: readonly AuditEvent[]): void {
  assert.deepEqual(
    valid(events).map(({ unmapped, message, status_id, severity_id }) => [
      unmapped.time_us,
      unmapped.activity_id,
      message,
      status_id,
      severity_id,
    ]),
    expected.map((one) => [one.time, one.activity_id, one.message, one.status_id, one.severity_id]),
  );
}

test('pages have the same events, total and paging; an unknown schema is none', async () => {
  for (const query of [
    {},
    { limit: '1000' },
    { limit: '7', offset: '240' },
    { actor: 'svc-scheduler@acme.example' },
  ]) {
    const [ours, theirs] = [await page({ ...query, schema: 'ocsf' }), await page<AuditEvent>(query)];
    assert.deepEqual(ours.meta, theirs.meta);
    sameEvents(ours.data, theirs.data);
  }
  for (const query of [{ actor: 'nobody@x' }, { offset: '100000' }]) {
    const ours = await page({ ...query, schema: 'ocsf' });
    assert.deepEqual(ours, await page(query));
  }
  const other = await page<AuditEvent>({ schema: 'OCSF', limit: '1' });
  assert.equal(other.data[0]?.['class_uid'], 3001);
});

test('the feed gives each event once, in the order of ingest, with cursors of either schema', async () => {
  // On a shared engine the watermark is some seconds behind the clock.
  await eventually('all to be below the watermark', async () =>
    (await page<AuditEvent>({ limit: '1000' }, '/api/v1/audit/feed')).data.length > count ? true : undefined,
  );
  const ids: string[] = [];
  let cursor = '';
  for (let more = true; more; ) {
    const query: Query = { schema: 'ocsf', limit: '90', cursor };
    const [ours, theirs] = [
      await page(query, '/api/v1/audit/feed'),
      await page<AuditEvent>({ ...query, schema: '' }, '/api/v1/audit/feed'),
    ];
    sameEvents(ours.data, theirs.data);
    ids.push(...ours.data.map(idOf));
    cursor = ours.meta['next_cursor'] as string;
    more = ours.meta['has_more'] === true;
  }
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.length > count);
  const none = await page({ schema: 'ocsf', cursor }, '/api/v1/audit/feed');
  assert.deepEqual(none.data, []);
});

test('exports are the same in lines and as a list, with their number; other schemas and CSV are refused', async () => {
  const lines = await get('/api/v1/audit/export', { schema: 'ocsf', endTime: '2026-11-01T00:00:00Z' });
  const events = lines.text.split('\n').slice(0, -1);
  assert.ok(lines.text.endsWith('\n'));
  assert.equal(lines.headers['x-total-count'], String(events.length));
  valid(events.map((line) => JSON.parse(line) as OcsfEvent));
  const pages = [await page({ schema: 'ocsf', limit: '1000', endTime: '2026-11-01T00:00:00Z' })];
  assert.deepEqual(
    events.map((line) => idOf(JSON.parse(line) as OcsfEvent)),
    pages[0]?.data.map(idOf),
  );
  const list = await get('/api/v1/audit/export', {
    schema: 'ocsf',
    format: 'json',
    endTime: '2026-11-01T00:00:00Z',
  });
  assert.equal(list.text, `[${events.join(',\n')}]\n`);
  for (const [format, empty] of [
    ['json', '[]\n'],
    ['ndjson', ''],
  ] as const) {
    const answer = await get('/api/v1/audit/export', { schema: 'ocsf', format, actor: 'nobody@x' });
    assert.deepEqual([answer.text, answer.headers['x-total-count']], [empty, '0']);
  }
  for (const query of [{ schema: 'xml' }, { schema: 'ocsf', format: 'csv' }]) {
    const answer = await get('/api/v1/audit/export', query);
    assert.match(problemOf(answer, 400).detail ?? '', /schema|CSV/);
  }
});

test('the schema that is served takes them all', async () => {
  const answer = await call(`${server.url}/ocsf-event.schema.json`);
  const validate = new Ajv2020({ strict: false }).compile(JSON.parse(answer.text) as object);
  const { data } = await page({ schema: 'ocsf', limit: '1000' });
  for (const event of data) assert.ok(validate(event), JSON.stringify([validate.errors, event]));
  assert.equal(validate({ ...data[0], flow_id: 'x' }), false);
});

test('the client, export, forward and validate of the command line know the schema', async () => {
  const client = createClient({ url: server.url, apiKey: tenant.key });
  const { events } = await client.page({ schema: 'ocsf', limit: 3 });
  valid(events);
  assert.equal(typeof events[0]?.unmapped.time_us, 'number');
  const file = join(directory, 'events.ndjson.gz');
  const written = await server.cliHere(['export', '--org', 'acme', '--schema', 'ocsf', '-o', file, '--json']);
  assert.equal(written.code, 0, written.stderr);
  const { rows } = JSON.parse(written.stdout) as { rows: number };
  const checked = await server.cliHere(['ocsf', 'validate', '--json', file]);
  assert.deepEqual(JSON.parse(checked.stdout), { events: rows, invalid: 0, faults: [] }, checked.stderr);
  const refused = await server.cliHere(['export', '--org', 'acme', '--schema', 'ocsf', '--format', 'csv']);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--schema/);
  const keyFile = join(directory, 'key');
  await writeFile(keyFile, tenant.key, { mode: 0o600 });
  const options = ['--url', server.url, '--key-file', keyFile, '--once', '--schema', 'ocsf'];
  const forwarded = await server.cli(['forward', ...options]);
  assert.equal(forwarded.code, 0, forwarded.stderr);
  const wrong = forwarded.stdout.replace('"severity_id":1,', '"severity_id":8,');
  const found = await server.cliHere(['ocsf', 'validate', '-'], wrong);
  assert.equal(found.code, 1);
  assert.match(found.stdout, /^line \d+: \/severity_id: must be one of/);
  assert.match(found.stderr, /1 of \d+ events/);
  const empty = await server.cliHere(['ocsf', 'validate', '-'], '\n');
  assert.deepEqual([empty.code, /no event/.test(empty.stderr)], [1, true]);
  const oneLine = `${JSON.stringify({ ...events[0], message: 'a\u2028b\u2029c' })}\n`;
  const separated = await server.cliHere(['ocsf', 'validate', '-'], oneLine);
  assert.equal(separated.stderr, '1 event is valid OCSF 1.1.0', separated.stdout);
});
