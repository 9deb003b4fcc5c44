import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { fromReadable } from '../../src/base/bytes/byte-flow.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import type { Route } from '../../src/http/router.ts';
import { startTestServer, type TestServer, until } from './support.ts';

/** Names of carried-out requests, in order. */
let carriedOut: string[] = [];
beforeEach(() => {
  carriedOut = [];
});

const routes: readonly Route[] = [
  { method: 'GET', path: '/now', name: 'now', head: true, handler: ({ head }) => show(head.rawQuery) },
  {
    method: 'GET',
    path: '/later',
    name: 'later',
    handler: async ({ head }) => {
      await delay(20);
      return show(head.rawQuery);
    },
  },
  {
    method: 'GET',
    path: '/large',
    name: 'large',
    handler: () => ({ status: 200, body: 'y'.repeat(largeBytes) }),
  },
  {
    method: 'GET',
    path: '/stream',
    name: 'stream',
    handler: async () => {
      await delay(20);
      const stream = fromReadable(Readable.from(pieces(), { objectMode: false }));
      return { status: 200, stream };
    },
  },
  {
    method: 'GET',
    path: '/until-gone',
    name: 'until gone',
    handler: async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return show('gone');
    },
  },
  {
    method: 'POST',
    path: '/store',
    name: 'store',
    body: { maxBytes: 1024 * 1024 },
    handler: async (context) => {
      const name = context.head.rawQuery;
      if (name.startsWith('refused')) throw new Problem('forbidden', 'Not you.');
      const { bytes, release } = await context.body();
      release();
      if (bytes[0] === 0x21) throw new Problem('malformed', 'Not that.');
      carriedOut.push(name);
      await delay(name.startsWith('slow') ? 60 : 2);
      return show(name, 'x'.repeat(name.startsWith('large') ? 100_000 : 0));
    },
  },
  {
    method: 'POST',
    path: '/change',
    name: 'change',
    body: { maxBytes: 1024 },
    handler: async ({ head }) => {
      carriedOut.push(head.rawQuery);
      await delay(2);
      return show(head.rawQuery);
    },
  },
];

const largeBytes = 1_000_000;

async function* pieces(): AsyncGenerator<Buffer> {
  for (let n = 0; n < 10; n++) {
    await delay(5);
    yield Buffer.alloc(100_000, 'z');
  }
}

function show(name: string, more = '') {
  return { status: 200, body: JSON.stringify({ name, more }) };
}

let it: TestServer;
before(async () => {
  it = await startTestServer(routes);
});
after(() => it.close());

const get = (target: string, method = 'GET'): string => `${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (target: string, body = 'abc'): string =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked = (target: string, body = 'abc'): string =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

interface Seen {
  /** Names, or statuses of answers without one, in the order of answers. */
  readonly answers: string[];
  readonly isClosed: boolean;
}

/** Writes each part once the previous one has begun, and reads until this number of answers or the end. */
async function send(parts: readonly string[], wanted: number, areWhole = false): Promise<Seen> {
  const socket = connect(it.server.port, '127.0.0.1').setNoDelay(true);
  let text = '';
  let isClosed = false;
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  for (const [index, part] of parts.entries()) {
    const before = carriedOut.length;
    await new Promise((resolve) => socket.write(part, resolve));
    const hasBegun = (): boolean => carriedOut.length > before || answersIn(text).length > index || isClosed;
    if (areWhole && index < parts.length - 1) await until(hasBegun, 20_000);
  }
  await until(() => isClosed || answersIn(text).length >= wanted, 20_000);
  socket.destroy();
  await until(() => it.server.inFlight() === 0, 20_000);
  return { answers: answersIn(text), isClosed };
}

function answersIn(text: string): string[] {
  return text
    .split('HTTP/1.1 ')
    .slice(1)
    .filter((answer) => answer.trimEnd().endsWith('}') || answer.endsWith('\r\n\r\n'))
    .map((answer) => /"name":"([^"]*)"/.exec(answer)?.[1] ?? answer.slice(0, 3));
}

/** Each change must be answered if it was carried out, and only then. */
const sequences: readonly (readonly [what: string, requests: readonly string[], names: readonly string[]])[] =
  [
    ['two changes', [post('/store?a'), post('/store?b')], ['a', 'b']],
    ['a slow one first', [post('/store?slow'), post('/store?b'), get('/now?c')], ['slow', 'b', 'c']],
    ['a body in chunks at the end', [post('/store?a'), get('/now?b'), chunked('/store?c')], ['a', 'b', 'c']],
    ['a large answer', [post('/store?large'), post('/store?b')], ['large', 'b']],
    ['a large body', [post('/store?a', 'x'.repeat(300_000)), post('/store?b')], ['a', 'b']],
    ['errors first', [post('/store?refused'), post('/store?b', '!'), post('/store?c')], ['403', '400', 'c']],
    ['no body', [post('/change?a', ''), post('/change?b', ''), post('/store?c')], ['a', 'b', 'c']],
    ['a body that nobody reads', [post('/change?a'), post('/change?b'), get('/now?c')], ['a', 'b', 'c']],
    ['HEAD between', [post('/store?a'), get('/now', 'HEAD'), post('/store?b')], ['a', '200', 'b']],
    [
      'unknown between',
      [get('/none'), post('/store?a'), get('/none'), post('/change?b')],
      ['404', 'a', '404', 'b'],
    ],
    ['reads and a change', [get('/now?a'), get('/now?b'), post('/store?c')], ['a', 'b', 'c']],
  ];

test('a carried-out change is answered, in order, before any later requests', async () => {
  for (const [what, requests, names] of sequences) {
    // As consecutive parts: reading stops at each change, so all are answered.
    carriedOut = [];
    const apart = await send(requests, names.length, true);
    assert.deepEqual(apart.answers, names, `${what}, one after the other`);
    // As one part: a request behind a change ends the connection before it begins.
    for (const parts of [[requests.join('')], halves(requests.join(''))]) {
      carriedOut = [];
      const { answers } = await send(parts, names.length);
      assert.deepEqual(answers, names.slice(0, answers.length), `${what}, together: in order`);
      const unanswered = carriedOut.filter((name) => !answers.includes(name));
      assert.deepEqual(unanswered, [], `${what}, together: carried out and not answered`);
    }
  }
});

function halves(text: string): string[] {
  const middle = text.length - 20;
  return [text.slice(0, middle), text.slice(middle)];
}

test('a change that comes together with a read before it is not carried out', async () => {
  const { isClosed, answers } = await send([get('/later?a') + post('/store?b')], 2);
  assert.deepEqual([isClosed, answers, carriedOut], [true, [], []]);
});

/** The whole answer to a client that shuts down its sending side with its request, and reads a little later. */
async function answerToHalfClosed(request: string, headers = ''): Promise<string> {
  const socket = connect({ port: it.server.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(request.replace('\r\n\r\n', `\r\n${headers}\r\n`));
  await delay(100);
  const received: Buffer[] = [];
  for await (const piece of socket as AsyncIterable<Buffer>) received.push(piece);
  await until(() => it.server.inFlight() === 0, 20_000);
  return Buffer.concat(received).toString('latin1');
}

test('a client that stops sending behind its request gets its answer whole', async () => {
  assert.match(await answerToHalfClosed(get('/now?a')), /"name":"a"/);
  assert.match(await answerToHalfClosed(get('/later?a')), /"name":"a"/);
  assert.match(await answerToHalfClosed(post('/store?a')), /"name":"a"/);
  assert.match(await answerToHalfClosed(chunked('/store?a')), /"name":"a"/);
  const large = await answerToHalfClosed(get('/large'));
  assert.equal(large.length - large.indexOf('\r\n\r\n') - 4, largeBytes);
  const packed = await answerToHalfClosed(get('/large'), 'Accept-Encoding: gzip\r\n');
  assert.match(packed, /^HTTP\/1\.1 200 OK[^]*content-encoding: gzip/i);
  const stream = await answerToHalfClosed(get('/stream'));
  assert.equal(stream.match(/z/g)?.length, 1_000_000);
  assert.ok(stream.endsWith('0\r\n\r\n'));
});

test('a read ends soon after its client has left, and lasts while the client stays', async () => {
  for (const leave of ['destroy', 'resetAndDestroy'] as const) {
    const socket = connect(it.server.port, '127.0.0.1');
    socket.write(get('/until-gone'));
    await until(() => it.server.inFlight() === 1);
    await delay(1_200);
    assert.equal(it.server.inFlight(), 1);
    socket[leave]();
    await until(() => it.server.inFlight() === 0);
  }
});
