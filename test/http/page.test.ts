import { strict as assert } from 'node:assert';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { loadPageFiles, pageFileHandler, pageHandler } from '../../src/http/routes/page.ts';
import { call } from '../support/http.ts';
import { startTestServer, type TestServer } from './support.ts';

const markup = `<!doctype html><title>A page</title>${'<p>text</p>'.repeat(400)}`;
const script = 'console.log(1);';
let folder: string;
let server: TestServer;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'auditlog-page-'));
  await mkdir(join(folder, 'assets'));
  await Promise.all([
    writeFile(join(folder, 'index.html'), markup),
    writeFile(join(folder, 'index.html.br'), brotliCompressSync(markup)),
    writeFile(join(folder, 'index.html.gz'), gzipSync(markup)),
    writeFile(join(folder, 'assets/main-abc.js'), script),
    writeFile(join(folder, 'secret.txt'), 'not of the page'),
  ]);
  const files = await loadPageFiles(folder);
  server = await startTestServer([
    { method: 'GET', path: '/', name: 'page', handler: pageHandler(files), head: true },
    { method: 'GET', path: '/assets/:file', name: 'file', handler: pageFileHandler(files), head: true },
    {
      method: 'GET',
      path: '/unbuilt',
      name: 'unbuilt',
      handler: pageHandler(await loadPageFiles(join(folder, 'none'))),
    },
  ]);
});
after(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

test('the document is compressed ahead, checked by its ETag, and allowed nothing but its own files', async () => {
  const plain = await call(`${server.url}/`);
  assert.deepEqual([plain.status, plain.text, plain.headers['content-encoding']], [200, markup, undefined]);
  assert.match(String(plain.headers['content-type']), /^text\/html; charset=utf-8$/);
  assert.equal(plain.headers['cache-control'], 'no-cache');
  const policy = String(plain.headers['content-security-policy']);
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    assert.ok(policy.includes(part), part);
  assert.doesNotMatch(policy, /unsafe|\*|data:|http/);
  for (const [name, value] of [
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
  ] as const)
    assert.equal(plain.headers[name], value);
  for (const [encoding, decode] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const answer = await call(`${server.url}/`, { headers: { 'accept-encoding': encoding } });
    assert.deepEqual(
      [answer.headers['content-encoding'], answer.headers.vary],
      [encoding, 'Accept-Encoding'],
    );
    assert.equal(decode(answer.raw).toString(), markup);
  }
  const etag = String(plain.headers.etag);
  // Compared without `W/`, which a proxy may remove.
  for (const known of [etag, `"other", ${etag.slice('W/'.length)}`, '*']) {
    const again = await call(`${server.url}/`, { headers: { 'if-none-match': known } });
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag], known);
    assert.equal(again.headers.vary, 'Accept-Encoding');
  }
  const other = await call(`${server.url}/`, { headers: { 'if-none-match': 'W/"other"' } });
  assert.equal(other.status, 200);
});

test('a file is cached for ever; an unknown one is missing', async () => {
  const file = await call(`${server.url}/assets/main-abc.js`);
  assert.deepEqual([file.status, file.text], [200, script]);
  assert.match(String(file.headers['cache-control']), /immutable/);
  assert.match(String(file.headers['content-type']), /^text\/javascript/);
  for (const name of ['none.js', '..%2fsecret.txt', '..%2findex.html', 'main-abc.js%00', ''])
    assert.equal((await call(`${server.url}/assets/${name}`)).status, 404, name);
});

test('without a built page the answer says how to build it', async () => {
  const answer = await call(`${server.url}/unbuilt`);
  assert.equal(answer.status, 404);
  assert.match(answer.text, /npm run build:web/);
});
