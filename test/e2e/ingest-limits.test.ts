import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { acceptedOf, problemOf, rawExchange } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { bodyBytesMax, sharedServer } from '../support/shared.ts';

const eventBytesMax = 1024 * 1024;
let server: SharedServer;
let tenant: Tenant;

const zstd = await Zstd.load();
// Made before any connection, because this process is busy meanwhile and would miss the end of an idle one.
const bomb = Buffer.alloc(96 * 1024 * 1024, 0x20);
const bombs: Record<string, Uint8Array> = {
  gzip: gzipSync(bomb, { level: 1 }),
  deflate: deflateSync(bomb, { level: 1 }),
  br: brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: zstd.compress(bomb),
};

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'limits');
});

/** An event whose JSON text has exactly this many bytes. */
function eventOfBytes(bytes: number, flow: string): string {
  const build = (pad: string) => JSON.stringify(sourceEvent({ flow_id: flow, extra: { pad } }));
  return build('x'.repeat(bytes - build('').length));
}

test('an event of exactly 1 MiB is stored whole', async () => {
  const flow = randomUUID();
  const text = eventOfBytes(eventBytesMax, flow);
  assert.equal(Buffer.byteLength(text), eventBytesMax);
  assert.equal(acceptedOf(await tenant.post(text)).accepted, 1);
  const page = await tenant.settled(1, { flowId: flow });
  assert.deepEqual(page.data[0]?.extra_map, JSON.parse(text).message.extra);
});

test('an event over 1 MiB is refused, and costs no other event', async () => {
  const flow = randomUUID();
  const small = JSON.stringify(sourceEvent({ flow_id: flow }));
  const answer = acceptedOf(
    await tenant.post(`[${small},${eventOfBytes(eventBytesMax + 1, flow)},${small}]`),
  );
  assert.equal(answer.accepted, 2);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    [1],
  );
  await tenant.settled(2, { flowId: flow });
  problemOf(await tenant.post(eventOfBytes(eventBytesMax + 1, flow)), 400);
});

test('a decompression bomb is 413, without the memory it asks for', async () => {
  for (const [encoding, body] of Object.entries(bombs)) {
    assert.ok(body.length < bodyBytesMax);
    problemOf(await tenant.post(body, { 'content-encoding': encoding }), 413);
  }
  assert.equal((await tenant.get('limit=1')).status, 200);
});

test('a chunked body that never ends is cut off at the limit', async () => {
  const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
  const { text } = await rawExchange(
    server.port,
    [
      `POST /api/v1/audit HTTP/1.1\r\nHost: x\r\nX-API-Key: ${tenant.key}\r\nContent-Type: application/json\r\n` +
        'Transfer-Encoding: chunked\r\n\r\n',
      ...Array.from({ length: bodyBytesMax / 65_536 + 2 }, () => chunk),
    ],
    (received) => received.includes('request_id'),
  );
  assert.match(text, /^HTTP\/1\.1 413 /);
});
