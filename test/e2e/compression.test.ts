import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { decompress as zstdDecompress } from 'fzstd';
import { call, eventually, type HttpAnswer, type Page, retryAfterOf } from '../support/http.ts';
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

test('what the client does not accept is not sent', async () => {
  assert.equal(await encodingOf(undefined), 'identity');
  assert.equal(await encodingOf('identity'), 'identity');
  assert.equal(await encodingOf('deflate'), 'identity');
  assert.equal(await encodingOf('nonsense, x-y;q=0.5'), 'identity');
  assert.equal(await encodingOf('gzip;q=0'), 'identity');
  assert.equal(await encodingOf('gzip;q=0, br'), 'br');
  assert.equal(await encodingOf('gzip;q=0.000, br;q=0.0, zstd;q=0'), 'identity');
  assert.equal(await encodingOf('*;q=0'), 'identity');
  assert.equal(await encodingOf('gzip, *;q=0'), 'gzip');
});

test('the preference of the client counts', async () => {
  assert.equal(await encodingOf('gzip;q=0.1, br;q=0.9'), 'br');
  assert.equal(await encodingOf('gzip;q=0.9, br;q=0.1, zstd;q=0.2'), 'gzip');
  assert.equal(await encodingOf('zstd, gzip;q=0.5'), 'zstd');
  assert.equal(await encodingOf('GZIP'), 'gzip');
  assert.ok(['gzip', 'br', 'zstd'].includes(await encodingOf('gzip, deflate, br, zstd')));
  assert.ok(['gzip', 'br', 'zstd'].includes(await encodingOf('*')));
  assert.equal(await encodingOf(' gzip ; q=1.0 '), 'gzip');
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

test('errors over 1 KiB are compressed as well, and stay problems', async () => {
  const bad = Array.from({ length: 100 }, () => ({ message: { timestamp: 'x', action: 'x' } }));
  const answer = await tenant.post(bad, { 'accept-encoding': 'gzip' });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers['content-encoding'], 'gzip');
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json\b/);
  assert.equal((JSON.parse(decoded(answer)) as { errors: unknown[] }).errors.length, 100);
});

test('many at once, every kind beside each other', async () => {
  const kinds = ['gzip', 'br', 'zstd', 'identity'];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      eventually('a read to get its turn', async () => {
        const answer = await tenant.get('limit=500', { 'accept-encoding': kinds[n % 4] ?? '' });
        // On a machine that is slow enough some wait for too long, and are told to come again.
        if (answer.status !== 200) assert.ok(retryAfterOf(answer) > 0, answer.text);
        return answer.status === 200 ? answer : undefined;
      }),
    ),
  );
  for (const answer of answers) assert.equal(numbers(decoded(answer)).length, 500);
});
