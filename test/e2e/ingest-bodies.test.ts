import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { acceptedOf, call, problemOf } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'bodies');
});

/** Events of a new flow, numbered by `extra.n`. */
function flowOf(count: number): { flow: string; events: object[] } {
  const flow = randomUUID();
  return {
    flow,
    events: Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n } })),
  };
}

/** Stored events of a flow in the order of ingest (pages show equal times newest first). */
async function storedOf(flow: string, count: number): Promise<unknown[]> {
  const page = await tenant.settled(count, { flowId: flow });
  return page.data.map((event) => event.extra_map?.['n']).toReversed();
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

test('NDJSON is a batch, blank lines and a missing last newline included', async () => {
  const { flow, events } = flowOf(4);
  const lines = events.map((event) => JSON.stringify(event));
  const body = `\n${lines[0]}\n\n${lines[1]}\r\n  \n\r\n${lines[2]}\n${lines[3]}`;
  const answer = await tenant.post(body, { 'content-type': 'application/x-ndjson' });
  assert.deepEqual(acceptedOf(answer), { accepted: 4, rejected: 0, errors: [] });
  assert.deepEqual(await storedOf(flow, 4), range(4));
});

test('compressed bodies: gzip, deflate, br, zstd', async () => {
  const zstd = await Zstd.load();
  const encoders: Record<string, (body: Buffer) => Uint8Array> = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: (body) => zstd.compress(body),
    GZIP: gzipSync,
    identity: (body) => body,
  };
  for (const [encoding, encode] of Object.entries(encoders)) {
    const { flow, events } = flowOf(50);
    const body = encode(Buffer.from(JSON.stringify(events)));
    const answer = await tenant.post(body, { 'content-encoding': encoding });
    assert.equal(acceptedOf(answer).accepted, 50, encoding);
    assert.deepEqual(await storedOf(flow, 50), range(50), encoding);
  }
});

// In 2,760 parts this delayed all organizations for minutes; the bound below is far lower.
test('one batch may have an event of each month from 1970 to 2199, without delaying others', async () => {
  const flow = randomUUID();
  const events = Array.from({ length: 2760 }, (_, n) =>
    sourceEvent({ timestamp: new Date(Date.UTC(1970, n)).toISOString(), flow_id: flow, extra: { n } }),
  );
  const neighbour = await createTenant(server, 'neighbour-of-months');
  await tenant.record(events);
  const beside = randomUUID();
  await neighbour.record([sourceEvent({ flow_id: beside })]);
  await neighbour.settled(1, { flowId: beside });
  const page = await tenant.settled(2760, { flowId: flow });
  assert.deepEqual(
    page.data.map((event) => event.extra_map?.['n']),
    range(2760).toReversed().slice(0, 1000),
  );
});

test('events of a request that follows an answer come after it in ingest order', async () => {
  const flow = randomUUID();
  for (const n of range(20)) await tenant.record([sourceEvent({ flow_id: flow, extra: { n } })]);
  assert.deepEqual(await storedOf(flow, 20), range(20));
});

test('records of other programs become events, and are kept with every digit', async () => {
  const file = new URL('../fixtures/adapters/cloudtrail.json', import.meta.url);
  const post = (kind: string, body: Buffer, headers = {}) =>
    call(`${server.url}/api/v1/audit?from=${kind}`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json', ...headers },
      body,
    });
  const body = readFileSync(file);
  const answer = await post('cloudtrail', gzipSync(body), { 'content-encoding': 'gzip' });
  assert.deepEqual(acceptedOf(answer), { accepted: 3, rejected: 0, errors: [] });
  const { data } = await tenant.settled(1, { actor: 'mary@example.com' });
  assert.deepEqual([data[0]?.activity_id, data[0]?.status], [1002, 'Failure']);

  const mixed = await post('okta', Buffer.from('[{"eventType":"a","published":"yesterday"},7]'));
  assert.deepEqual(
    problemOf(mixed, 400).errors?.map(({ error }) => error.replace(/ an RFC .* 2200-01-01/, ' …')),
    ['/message/timestamp: must be … (as mapped from okta)', 'the record must be a JSON object'],
  );
  assert.match(
    problemOf(await post('nobody', body), 400).detail,
    /^from must be one of cloudtrail, github, json, kubernetes, okta, badges\.$/,
  );
  problemOf(await post('', body), 400);
  // A repeat counts once; unknown parameters are named and ignored.
  const odd = await post('cloudtrail&from=okta&timeout=30s&maxErrors=none', body);
  assert.deepEqual(acceptedOf(odd), { accepted: 3, rejected: 0, errors: [] });
  assert.equal(odd.headers['ignored-parameters'], 'timeout, maxErrors');
  assert.equal(answer.headers['ignored-parameters'], undefined);
});

test('a mapping of the installation is used, in small bodies and in large ones, and claims no outcome that it does not know', async () => {
  const swipe = (result: string | undefined, number: number) => ({
    number,
    at: 1_717_236_000 + number,
    badge: 17,
    holder: 'Ann Other',
    door: `Lab ${result}`,
    result,
  });
  const post = (swipes: readonly object[]) =>
    call(`${server.url}/api/v1/audit?from=badges`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
      body: JSON.stringify({ swipes }),
    });
  const results = ['opened', 'refused', 'jammed', undefined];
  assert.equal(acceptedOf(await post(results.map(swipe))).accepted, 4);
  const seen = async (door: string) => {
    const { data } = await tenant.settled(1, { fileName: `Lab ${door}` });
    const [event] = data;
    return [event?.activity_name, event?.status, event?.['status_detail']];
  };
  assert.deepEqual(await Promise.all(results.map((result) => seen(String(result)))), [
    ['Door opened', 'Success', undefined],
    ['Door refused', 'Failure', undefined],
    ['Door jammed', 'Success', 'outcome unknown: jammed'],
    ['Door tried', 'Success', 'outcome unknown: the record does not say'],
  ]);
  const { data } = await tenant.page({ fileName: 'Lab jammed' });
  assert.ok((data[0]?.activity_id ?? 0) >= 1_000_000_000, 'neither code is right');
  const many = Array.from({ length: 20_000 }, (_, n) => ({ ...swipe('opened', n), door: 'Many' }));
  assert.equal(acceptedOf(await post(many)).accepted, many.length);
});
