import assert from 'node:assert/strict';
import { Agent, request as nodeRequest } from 'node:http';
import { connect } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../../src/base/errors/problem.ts';
import type { Route } from '../../src/http/router.ts';
import { startTestServer, type TestServer } from './support.ts';

/**
 * The library may take data behind a body in chunks for requests; they must not run (src/http/exchange.ts,
 * isLast).
 */

let asked: string[] = [];
beforeEach(() => {
  asked = [];
});

const note = (name: string): { status: number; body: string } => {
  asked.push(name);
  return { status: 200, body: JSON.stringify({ name }) };
};

const routes: readonly Route[] = [
  { method: 'GET', path: '/smuggled', name: 'smuggled', head: true, handler: () => note('smuggled') },
  { method: 'GET', path: '/now', name: 'now', head: true, handler: () => note('now') },
  {
    method: 'GET',
    path: '/later',
    name: 'later',
    handler: async () => {
      await delay(10);
      return note('later');
    },
  },
  {
    method: 'POST',
    path: '/store',
    name: 'store',
    body: { maxBytes: 1024 * 1024 },
    handler: async (context) => {
      const { bytes, release } = await context.body();
      const text = Buffer.from(bytes).toString('latin1');
      release();
      await delay(2);
      const { rawQuery } = context.head;
      const answer = note(text);
      return rawQuery === 'large' ? { ...answer, body: Buffer.alloc(100_000, 'y') } : answer;
    },
  },
  {
    method: 'POST',
    path: '/refused',
    name: 'refused',
    body: { maxBytes: 1024 * 1024 },
    handler: () => {
      throw new Problem('forbidden', 'Not you.');
    },
  },
];

let it: TestServer;
before(async () => {
  it = await startTestServer(routes);
});
after(() => it.close());

interface Seen {
  readonly text: string;
  readonly isClosed: boolean;
}

/** Writes the parts some milliseconds apart, and reads until the end or a long pause. */
async function exchange(...parts: readonly string[]): Promise<Seen> {
  const socket = connect(it.server.port, '127.0.0.1').setNoDelay(true);
  let text = '';
  let isClosed = false;
  socket.on('data', (piece) => (text += piece.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  void closed.then(() => (isClosed = true));
  for (const part of parts) {
    socket.write(part);
    await delay(15);
  }
  await Promise.race([closed, delay(3000, undefined, { ref: false })]);
  socket.destroy();
  return { text, isClosed };
}

const chunkedHead = (target: string, coding = 'chunked', method = 'POST'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
const chunks = '3\r\nabc\r\n0\r\n';
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

const targets: readonly (readonly [what: string, head: string])[] = [
  ['a stored body', chunkedHead('/store')],
  ['a refused one', chunkedHead('/refused')],
  ['a path that is none', chunkedHead('/none')],
  ['a method that is none', chunkedHead('/now')],
  ['a read at once', chunkedHead('/now', 'chunked', 'GET')],
  ['a read that takes time', chunkedHead('/later', 'chunked', 'GET')],
  ['HEAD', chunkedHead('/now', 'chunked', 'HEAD')],
  ['OPTIONS', chunkedHead('/now', 'chunked', 'OPTIONS')],
  ['another coding', chunkedHead('/store', 'chunked, gzip')],
];

test('nothing behind a body in chunks counts as a request: a trailer, or a pipelined one', async () => {
  asked = [];
  for (const [what, head] of targets)
    for (const behind of [smuggled, `X: y\r\n\r\n${smuggled}`, `\r\n${smuggled}`]) {
      const sent = [
        [`${head}${chunks}${behind}`],
        [`${head}${chunks}`, behind],
        [`${head}3\r\nabc\r\n`, `0\r\n${behind}`],
        [head, chunks, behind],
      ];
      const answers = await Promise.all(sent.map((parts) => exchange(...parts)));
      for (const [at, { text }] of answers.entries()) {
        const told = `${what}: ${JSON.stringify(sent[at])}`;
        assert.ok(!asked.includes('smuggled'), told);
        assert.ok((text.match(/HTTP\/1\.1 /g)?.length ?? 0) <= 1, `${told} ${text}`);
      }
    }
});

test('a body in chunks is answered, and its connection ends with the answer', async () => {
  for (const [coding, path] of [
    ['chunked', '/store'],
    ['Chunked', '/store'],
    ['CHUNKED', '/store'],
    ['chunked', '/store?large'],
  ] as const) {
    const { text, isClosed } = await exchange(chunkedHead(path, coding), '3\r\nabc\r\n', '0\r\n\r\n');
    assert.match(text, /^HTTP\/1\.1 200 OK/);
    assert.equal(text.match(/connection: close/gi)?.length, 1, text.slice(0, 600));
    assert.ok(!/keep-alive/i.test(text));
    if (path === '/store') assert.ok(isClosed);
    assert.deepEqual(asked.splice(0), ['abc']);
  }
  const refused = await exchange(`${chunkedHead('/refused')}${chunks}\r\n`);
  assert.match(refused.text, /^HTTP\/1\.1 403 [^]*"status":403/);
  assert.ok(refused.isClosed);
});

test('nothing behind a chunk of wrong length counts as a request', async () => {
  for (const body of [
    '3\r\nabcXX0\r\n\r\n',
    '3\r\nabcGE0\r\n\r\n',
    '3\r\nabc\n0\r\n\r\n',
    '3;x\r\nabc\r\n0\r\n\r\n',
  ]) {
    asked = [];
    await exchange(`${chunkedHead('/store')}${body}${smuggled}`);
    await exchange(`${chunkedHead('/store')}${body}`, smuggled);
    assert.ok(!asked.includes('smuggled'), JSON.stringify(body));
  }
});

test('a coding beside chunks, and a second Host, are refused with a problem', async () => {
  for (const coding of [
    'gzip',
    'chunked, gzip',
    'gzip, chunked',
    'identity',
    'chunked, chunked',
    'xchunked',
  ]) {
    asked = [];
    const { text, isClosed } = await exchange(`${chunkedHead('/store', coding)}${chunks}\r\n`);
    assert.match(text, /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"status":400/, coding);
    assert.deepEqual([isClosed, asked], [true, []], coding);
  }
  for (const other of ['x', 'y', ''])
    for (const name of ['Host', 'host', 'HOST']) {
      const { text } = await exchange(
        `GET /now HTTP/1.1\r\nHost: x\r\n${name}: ${other}\r\nConnection: close\r\n\r\n`,
      );
      assert.match(text, /^HTTP\/1\.1 400 /, `${name}: ${other}`);
      assert.deepEqual(asked, []);
    }
  const twice = `POST /store HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n`;
  assert.match((await exchange(`${twice}${chunks}\r\n`)).text, /^HTTP\/1\.1 400 /);
});

test('a shipper that keeps connections and sends chunks loses no request', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const post = (text: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const outgoing = nodeRequest(`${it.url}/store`, { agent, method: 'POST' }, (incoming) => {
        incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0));
      });
      outgoing.on('error', reject);
      outgoing.write(text.slice(0, 2));
      outgoing.end(text.slice(2));
    });
  const names = Array.from({ length: 200 }, (_, n) => `event ${n}`);
  const statuses = await Promise.all(names.map(post));
  assert.ok(statuses.every((status) => status === 200));
  assert.deepEqual(asked.toSorted(), names.toSorted());
  agent.destroy();
});
