import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { decompress as zstdDecompress } from 'fzstd';
import { call, type HttpAnswer, type Page } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;
let zstd: Zstd;

before(async () => {
  zstd = await Zstd.load();
  server = await sharedServer();
  tenant = await createTenant(server, 'compression');
  await tenant.record(
    Array.from({ length: 1000 }, (_, n) => sourceEvent({ extra: { n, text: `Übertragung ${n} 日本 🎉` } })),
  );
  await tenant.settled(1000);
});

function decoded(answer: HttpAnswer): string {
  const encoding = answer.headers['content-encoding'];
  if (encoding === undefined) return answer.text;
  if (encoding === 'gzip') return gunzipSync(answer.raw).toString();
  if (encoding === 'br') return brotliDecompressSync(answer.raw).toString();
  assert.equal(encoding, 'zstd');
  const own = Buffer.from(zstd.decompress(answer.raw)).toString();
  // A second implementation reads it too: the frame is a plain one.
  assert.equal(Buffer.from(zstdDecompress(answer.raw)).toString(), own);
  return own;
}

const numbers = (text: string) => (JSON.parse(text) as Page).data.map((event) => event.extra_map?.['n']);
const encodingOf = async (accept: string | undefined, query = 'limit=100') => {
  const answer = await tenant.get(query, accept === undefined ? {} : { 'accept-encoding': accept });
  assert.equal(answer.status, 200);
  assert.equal(numbers(decoded(answer)).length, (JSON.parse(decoded(answer)) as Page).meta.limit);
  return answer.headers['content-encoding'] ?? 'identity';
};

test('gzip, br and zstd: the same page, smaller', async () => {
  const plain = await tenant.get('limit=1000');
  assert.equal(plain.headers['content-encoding'], undefined);
  for (const encoding of ['gzip', 'br', 'zstd']) {
    const answer = await tenant.get('limit=1000', { 'accept-encoding': encoding });
    assert.equal(answer.headers['content-encoding'], encoding);
    assert.match(String(answer.headers['content-type']), /^application\/json\b/);
    assert.match(String(answer.headers.vary), /accept-encoding/i);
    assert.ok(
      answer.raw.length < plain.raw.length / 3,
      `${encoding}: ${answer.raw.length} of ${plain.raw.length}`,
    );
    assert.deepEqual(numbers(decoded(answer)), numbers(plain.text));
  }
});

test('bodies up to 1 KiB go out as they are', async () => {
  for (const encoding of ['gzip', 'br', 'zstd']) {
    const empty = await tenant.get('actor=nobody', { 'accept-encoding': encoding });
    assert.equal(empty.headers['content-encoding'], undefined);
    assert.ok(empty.raw.length < 1024);
    const refused = await call(`${server.url}/api/v1/audit`, { headers: { 'accept-encoding': encoding } });
    assert.equal(refused.status, 401);
    assert.equal(refused.headers['content-encoding'], undefined);
  }
  const page = await tenant.get('limit=3');
  assert.ok(page.raw.length > 1024);
  assert.equal(await encodingOf('gzip', 'limit=3'), 'gzip');
});
