import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../../src/base/errors/problem.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import type { Route } from '../../src/http/router.ts';
import { exchangeRaw, startTestServer, type TestServer, until } from './support.ts';

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const mib = 1024 * 1024;

let gone = 0;
async function digest(context: RequestContext) {
  try {
    const { bytes, release } = await context.body();
    const answer = { bytes: bytes.length, sha: sha(bytes) };
    release();
    return { status: 200, body: JSON.stringify(answer) };
  } catch (error) {
    if (!(error instanceof Problem)) gone++;
    throw error;
  }
}

let unblock: () => void = () => {};
const blocked = new Promise<void>((resolve) => {
  unblock = resolve;
});

const routes: readonly Route[] = [
  { method: 'POST', path: '/digest', name: 'digest', body: { maxBytes: 4 * mib }, handler: digest },
  {
    method: 'POST',
    path: '/hold',
    name: 'hold',
    body: { maxBytes: 4 * mib },
    handler: async (context) => {
      await context.body();
      await blocked;
      return { status: 204 };
    },
  },
  {
    method: 'POST',
    path: '/denied',
    name: 'denied',
    body: { maxBytes: 64 * mib },
    handler: () => {
      throw new Problem('unauthorized', 'No key.');
    },
  },
  { method: 'GET', path: '/get', name: 'get', handler: () => ({ status: 200, body: '{}' }) },
  {
    method: 'GET',
    path: '/slow-get',
    name: 'slow-get',
    handler: async () => {
      await delay(30);
      return { status: 200, body: '{}' };
    },
  },
];

let it: TestServer;
before(async () => {
  it = await startTestServer(routes, { bodiesInFlightBytesMax: 6 * mib });
});
after(() => it.close());

async function post(path: string, body: Uint8Array | ReadableStream): Promise<Response> {
  const init = { method: 'POST', body, duplex: 'half' };
  return fetch(`${it.url}${path}`, init as RequestInit);
}

function inPieces(bytes: Uint8Array, size: number): ReadableStream {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await delay(1);
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, (at += size)));
    },
  });
}

test('bodies arrive whole: empty, small, large, with and without a length', async () => {
  for (const size of [0, 1, 1000, 64 * 1024, mib, mib + 1, 4 * mib]) {
    const bytes = randomBytes(size);
    const expected = { bytes: size, sha: sha(bytes) };
    assert.deepEqual(await (await post('/digest', bytes)).json(), expected);
    assert.deepEqual(await (await post('/digest', inPieces(bytes, 100_000))).json(), expected);
  }
  await post('/digest', randomBytes(1234));
  const line = (await it.accessLines()).at(-1);
  assert.equal(line?.['bytesReceived'], 1234);
});

test('Expect: 100-continue is honoured', async () => {
  const raw = await exchangeRaw(it.server.port, [
    'POST /digest HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
    'hello',
  ]);
  assert.match(raw, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
});

test('too large a body is 413, which a sender in full flow gets to see', async () => {
  for (const body of [Buffer.alloc(40 * mib), inPieces(Buffer.alloc(40 * mib), mib)]) {
    const answer = await post('/digest', body);
    assert.equal(answer.status, 413);
    assert.match(await answer.text(), /larger than the 4194304 bytes/);
  }
  // A sender that reads only after it has written everything.
  const raw = await exchangeRaw(
    it.server.port,
    [`POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: ${20 * mib}\r\n\r\n`, Buffer.alloc(20 * mib)],
    3000,
  );
  assert.match(raw, /^HTTP\/1\.1 413 Content Too Large/);
  assert.match(raw, /Connection: close/);
  assert.ok(raw.endsWith('0\r\n\r\n'));
});

test('an answer before the body: seen by the sender of a large one, and a small one keeps its connection', async () => {
  assert.equal((await post('/denied', Buffer.alloc(30 * mib))).status, 401);
  assert.equal((await post('/nothing', Buffer.alloc(30 * mib))).status, 413);
  const raw = await exchangeRaw(it.server.port, [
    'POST /denied HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n',
    'hello',
    'POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi',
  ]);
  assert.match(raw, /401 Unauthorized[^]*200 OK[^]*"bytes":2/);
});

test('a body on GET is ignored when small and refused when large', async () => {
  for (const path of ['/get', '/slow-get']) {
    const raw = await exchangeRaw(it.server.port, [
      `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`,
      ...Array.from({ length: 20 }, () => ''),
      'GET /get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ]);
    assert.equal(raw.match(/200 OK/g)?.length, 2, raw);
  }
  const large = await exchangeRaw(it.server.port, [
    `GET /get HTTP/1.1\r\nHost: x\r\nContent-Length: ${mib}\r\n\r\n`,
  ]);
  assert.match(large, /^HTTP\/1\.1 413/);
  const chunked = await exchangeRaw(it.server.port, [
    `GET /slow-get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n${'x'.repeat(0x20000)}\r\n`,
  ]);
  assert.ok(!chunked.includes('200 OK'));
});

test('a sender that leaves in the middle rejects the read and frees the memory', async () => {
  await until(() => it.server.inFlight() === 0);
  gone = 0;
  for (let i = 0; i < 10; i++) {
    const socket = connect(it.server.port, '127.0.0.1');
    socket.write(`POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: ${4 * mib}\r\n\r\n`);
    socket.write(Buffer.alloc(3 * mib));
    await until(() => it.server.inFlight() === 1);
    socket.destroy();
    await until(() => gone === i + 1 && it.server.inFlight() === 0);
  }
  const line = (await it.accessLines()).at(-1);
  assert.equal(line?.['status'], 499);
  assert.equal((await post('/digest', randomBytes(4 * mib))).status, 200);
});

test('all bodies together are bounded: beyond it 503 with Retry-After, and room again afterwards', async () => {
  const first = post('/hold', randomBytes(4 * mib));
  await until(() => it.server.inFlight() === 1);
  await delay(50);
  const second = await post('/digest', randomBytes(3 * mib));
  assert.equal(second.status, 503);
  assert.equal(second.headers.get('retry-after'), '1');
  assert.equal((await post('/digest', randomBytes(mib))).status, 200);
  unblock();
  assert.equal((await first).status, 204);
  assert.equal((await post('/digest', randomBytes(4 * mib))).status, 200);
  // Answers without a read of the body free what has come of it.
  for (let i = 0; i < 200; i++) assert.equal((await post('/denied', Buffer.alloc(50_000))).status, 401);
  assert.equal((await post('/digest', randomBytes(4 * mib))).status, 200);
});

test('a handler that is slow to ask for a large body gets it whole', async () => {
  const it = await startTestServer([
    {
      method: 'POST',
      path: '/late',
      name: 'late',
      body: { maxBytes: 8_000_000 },
      async handler(context) {
        await new Promise((resolve) => setTimeout(resolve, 300));
        const { bytes } = await context.body();
        const sum = bytes.reduce((total, byte) => total + byte, 0);
        return { status: 200, body: JSON.stringify({ bytes: bytes.length, sum }) };
      },
    },
  ]);
  const body = Buffer.alloc(5_000_000, 3);
  const answers = await Promise.all(
    [1, 2, 3].map(async () => (await fetch(`${it.url}/late`, { method: 'POST', body })).json()),
  );
  for (const answer of answers) assert.deepEqual(answer, { bytes: 5_000_000, sum: 15_000_000 });
  await it.close();
});

test('a paused body is freed when the server closes', async () => {
  let refuse = (): void => undefined;
  const handler = (): Promise<never> =>
    new Promise((_, reject) => {
      refuse = () => reject(new Error('refused'));
    });
  const closing = await startTestServer([
    { method: 'POST', path: '/body', name: 'body', body: { maxBytes: 1024 * 1024 }, handler },
  ]);
  const socket = connect(closing.server.port, '127.0.0.1').on('error', () => undefined);
  socket.write('POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n');
  socket.write(Buffer.alloc(300_000));
  await until(() => closing.server.inFlight() === 1);
  await delay(100);
  await closing.close();
  refuse();
  await until(() => closing.server.inFlight() === 0);
  socket.destroy();
});
