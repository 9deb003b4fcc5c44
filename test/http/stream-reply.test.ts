import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fromReadable } from '../../src/base/bytes/byte-flow.ts';
import type { Route } from '../../src/http/router.ts';
import { writeBytesMax } from '../../src/http/uws.ts';
import { exchangeRaw, startTestServer, type TestServer, until } from './support.ts';

const chunk = Buffer.alloc(64 * 1024, 'x');
let produced = 0;
let destroyed = 0;
let signalled = 0;

async function* numbers(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) {
    if (i % 100 === 0) await delay(1);
    yield Buffer.from(i % 7 === 0 ? `${i}\n\n` : `${i}\n`);
  }
}

async function* failing(after: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < after; i++) {
    yield chunk;
    await delay(5);
  }
  throw new Error('the engine died');
}

function endless(): Readable {
  return new Readable({
    read() {
      produced += chunk.length;
      this.push(chunk);
    },
    destroy(error, callback) {
      destroyed++;
      callback(error);
    },
  });
}

const ndjson = { 'Content-Type': 'application/x-ndjson' };
const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/numbers',
    name: 'numbers',
    handler: () => ({
      status: 200,
      headers: { ...ndjson, 'X-Total-Count': '5000' },
      stream: fromReadable(Readable.from(numbers(5000), { objectMode: false })),
    }),
  },
  {
    method: 'GET',
    path: '/empty',
    name: 'empty',
    handler: () => ({ status: 200, headers: ndjson, stream: fromReadable(Readable.from([])) }),
  },
  {
    method: 'GET',
    path: '/early',
    name: 'early',
    handler: () => ({
      status: 200,
      headers: ndjson,
      stream: fromReadable(Readable.from(failing(0), { objectMode: false })),
    }),
  },
  {
    method: 'GET',
    path: '/late',
    name: 'late',
    handler: async () => ({
      status: 200,
      headers: ndjson,
      stream: fromReadable(Readable.from(failing(3), { objectMode: false })),
    }),
  },
  {
    method: 'GET',
    path: '/endless',
    name: 'endless',
    handler: (context) => {
      context.signal.addEventListener('abort', () => signalled++);
      return { status: 200, headers: ndjson, stream: fromReadable(endless()) };
    },
  },
  {
    method: 'GET',
    path: '/cut',
    name: 'cut',
    handler: () => {
      const source = new Readable({ read() {} });
      source.push(chunk);
      setTimeout(() => source.destroy(), 20);
      return { status: 200, headers: ndjson, stream: fromReadable(source) };
    },
  },
];

const expected = Array.from({ length: 5000 }, (_, i) => (i % 7 === 0 ? `${i}\n\n` : `${i}\n`)).join('');

let it: TestServer;
before(async () => {
  it = await startTestServer(routes);
});
after(() => it.close());

test('a stream arrives whole, plain and compressed', async () => {
  const plain = await fetch(`${it.url}/numbers`, { headers: { 'Accept-Encoding': 'identity' } });
  assert.equal(plain.headers.get('x-total-count'), '5000');
  assert.equal(await plain.text(), expected);
  for (const encoding of ['br', 'gzip']) {
    const answer = await fetch(`${it.url}/numbers`, { headers: { 'Accept-Encoding': encoding } });
    assert.equal(answer.headers.get('content-encoding'), encoding);
    assert.equal(await answer.text(), expected);
  }
  const empty = await fetch(`${it.url}/empty`);
  assert.equal(empty.status, 200);
  assert.equal(await empty.text(), '');
});

test('a source that fails before its first byte is a problem, not a broken connection', async () => {
  for (const encoding of ['identity', 'gzip', 'zstd']) {
    const answer = await fetch(`${it.url}/early`, { headers: { 'Accept-Encoding': encoding } });
    assert.equal(answer.status, 500);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    assert.ok(!(await answer.text()).includes('engine died'));
  }
});

test('a source that fails later breaks the connection: no clean end, in no encoding', async () => {
  for (const path of ['/late', '/cut']) {
    const raw = await exchangeRaw(it.server.port, [`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`], 2000);
    assert.match(raw, /^HTTP\/1\.1 200 OK/);
    assert.ok(raw.includes('xxx'));
    assert.ok(!raw.endsWith('0\r\n\r\n'));
    await assert.rejects(async () => {
      await (await fetch(`${it.url}${path}`, { headers: { 'Accept-Encoding': 'identity' } })).text();
    });
  }
  await assert.rejects(async () => {
    const answer = await fetch(`${it.url}/late`, { headers: { 'Accept-Encoding': 'gzip' } });
    await answer.text();
    assert.equal(answer.status, 200);
  });
  const head = 'GET /late HTTP/1.1\r\nHost: x\r\nAccept-Encoding: zstd\r\n\r\n';
  const packed = await exchangeRaw(it.server.port, [head], 2000);
  assert.match(packed, /^HTTP\/1\.1 200 OK[^]*\r\nContent-Encoding: zstd\r\n/);
  assert.ok(!packed.endsWith('0\r\n\r\n'));
  const line = (await it.accessLines()).findLast(({ path }) => path === '/cut');
  assert.equal(line?.['status'], 500);
  assert.equal(line?.['bytesSent'], chunk.length);
});

test('a reader that pauses stops the source, and one that leaves ends it', async () => {
  for (const encoding of ['identity', 'gzip', 'zstd']) {
    produced = 0;
    destroyed = 0;
    signalled = 0;
    const socket = connect(it.server.port, '127.0.0.1');
    socket.write(`GET /endless HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${encoding}\r\n\r\n`);
    await once(socket, 'readable');
    await delay(50);
    if (encoding === 'identity') {
      let before = -1;
      for (let turn = 0; turn < 50 && before !== produced; turn++) {
        before = produced;
        await delay(200);
      }
      assert.equal(produced, before, 'nothing is produced while the reader stands still');
      assert.ok(produced < 64 * 1024 * 1024);
    }
    socket.destroy();
    await until(() => destroyed === 1 && signalled === 1);
    await until(() => it.server.inFlight() === 0);
  }
  const line = (await it.accessLines()).findLast(({ path }) => path === '/endless');
  assert.equal(line?.['status'], 499);
});

/** Sizes of the complete chunks after a head; throws on broken framing. */
function chunkSizes(wire: Buffer): number[] {
  const sizes: number[] = [];
  for (let at = wire.indexOf('\r\n\r\n') + 4; ; ) {
    const end = wire.indexOf('\r\n', at);
    const line = wire.toString('latin1', at, end);
    const size = Number.parseInt(line, 16);
    if (end === -1 || end + size + 4 > wire.length) return sizes;
    assert.match(line, /^[0-9a-f]+$/i);
    assert.equal(wire.toString('latin1', end + 2 + size, end + 4 + size), '\r\n');
    sizes.push(size);
    at = end + size + 4;
  }
}

test('every chunk is whole, and as large as this build may have it, however the reader stutters', async () => {
  const socket = connect(it.server.port, '127.0.0.1');
  const received: Buffer[] = [];
  let bytes = 0;
  socket.on('data', (data) => {
    received.push(data);
    bytes += data.length;
    if (received.length % 20 !== 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), 10);
  });
  socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => bytes > 16 * 1024 * 1024, 10_000);
  socket.destroy();
  const sizes = chunkSizes(Buffer.concat(received));
  assert.ok(sizes.length > 200, `${sizes.length} chunks`);
  assert.ok((sizes[0] ?? 0) <= 4 * 1024, 'the first one goes with the head');
  assert.equal(Math.max(...sizes), writeBytesMax);
  await until(() => it.server.inFlight() === 0);
});

test('many readers that leave in the middle cost nothing that lasts', async () => {
  destroyed = 0;
  const leave = async (ms: number): Promise<void> => {
    const controller = new AbortController();
    const answer = await fetch(`${it.url}/endless`, { signal: controller.signal });
    await delay(ms);
    controller.abort();
    await assert.rejects(answer.text());
  };
  await Promise.all(Array.from({ length: 20 }, (_, i) => leave(i)));
  await until(() => destroyed === 20 && it.server.inFlight() === 0);
  assert.equal(await (await fetch(`${it.url}/numbers`)).text(), expected);
});
