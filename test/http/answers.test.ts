import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { limits } from '../../src/http/limits.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { fromReadable } from '../../src/base/bytes/byte-flow.ts';
import type { Route } from '../../src/http/router.ts';
import { Readable } from 'node:stream';
import { startTestServer, type TestServer } from './support.ts';

const policy = "default-src 'self'";
const large = JSON.stringify(Array.from({ length: 4000 }, (_, n) => `value ${n}`));

const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/probe',
    name: 'probe',
    head: true,
    handler: () => ({ status: 200, body: '{"a":1}' }),
  },
  { method: 'GET', path: '/large', name: 'large', head: true, handler: () => ({ status: 200, body: large }) },
  {
    method: 'GET',
    path: '/later',
    name: 'later',
    head: true,
    handler: () => Promise.resolve({ status: 200, body: '{"b":2}' }),
  },
  { method: 'GET', path: '/plain', name: 'plain', handler: () => ({ status: 200, body: '{}' }) },
  {
    method: 'GET',
    path: '/stream',
    name: 'stream',
    handler: () => ({ status: 200, stream: fromReadable(Readable.from([Buffer.from('[1]')])) }),
  },
  {
    method: 'GET',
    path: '/page',
    name: 'page',
    handler: () => ({
      status: 200,
      headers: { 'content-security-policy': policy, 'Cache-Control': 'max-age=60' },
      body: '{}',
    }),
  },
  {
    method: 'GET',
    path: '/refused',
    name: 'refused',
    handler: () => {
      throw new Problem('unavailable', 'Not now.', { retryAfterSeconds: 1 });
    },
  },
];

let it: TestServer;
before(async () => {
  it = await startTestServer(routes, { trustProxy: 1 });
});
after(() => it.close());

interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Removes the answers to these requests from the text; undefined until all are there. */
function parseAnswers(text: string, methods: readonly string[]): RawAnswer[] | undefined {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (const method of methods) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end < 0) return undefined;
    const [line = '', ...fields] = text.slice(at, end).split('\r\n');
    const headers = new Map(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 2),
      ]),
    );
    const length = method === 'HEAD' ? 0 : Number(headers.get('content-length') ?? 0);
    if (text.length < end + 4 + length) return undefined;
    assert.match(line, /^HTTP\/1\.1 \d{3} /, 'an answer begins where the one before ends');
    answers.push({ status: Number(line.slice(9, 12)), headers, body: text.slice(end + 4, end + 4 + length) });
    at = end + 4 + length;
  }
  assert.equal(text.slice(at), '', 'nothing comes after the last answer');
  return answers;
}

/** Answers on one connection to requests sent at once, or each after the previous answer. */
function onOneConnection(
  requests: readonly (readonly [method: string, path: string, headers?: string])[],
  pipelined: boolean,
): Promise<RawAnswer[]> {
  const texts = requests.map(
    ([method, path, headers = '']) => `${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`,
  );
  const methods = requests.map(([method]) => method);
  return new Promise((resolve, reject) => {
    const socket = connect(it.server.port, '127.0.0.1');
    let text = '';
    let sent = 0;
    const send = (): void => {
      socket.write(pipelined ? texts.join('') : (texts[sent] ?? ''));
      sent = pipelined ? texts.length : sent + 1;
    };
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
    socket.on('connect', send);
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      let answers: RawAnswer[] | undefined;
      try {
        answers = parseAnswers(text, methods.slice(0, sent));
      } catch (error) {
        reject(error);
      }
      if (answers === undefined) return;
      if (sent < texts.length) return send();
      resolve(answers);
      socket.destroy();
    });
  });
}

test('HEAD has the head of GET and no body, and the connection stays usable', async () => {
  const paths = ['/probe', '/large', '/later', '/plain', '/refused', '/nothing'];
  const statuses = [200, 200, 200, 405, 405, 404];
  for (const pipelined of [false, true]) {
    // The library closes a connection with a request behind a pending answer.
    const now = paths.filter((path) => !pipelined || path !== '/later');
    const requests = now.flatMap((path) => [
      ['HEAD', path] as const,
      ['HEAD', path] as const,
      ['GET', '/probe'] as const,
    ]);
    const answers = await onOneConnection(requests, pipelined);
    now.forEach((path, n) => {
      const [first, second, get] = answers.slice(n * 3, n * 3 + 3);
      assert.equal(first?.status, statuses[paths.indexOf(path)], path);
      assert.equal(second?.status, first?.status);
      assert.equal(get?.status, 200);
      assert.equal(get.body, '{"a":1}');
    });
  }
});

test('HEAD has the length of GET, and 405 elsewhere names the methods', async () => {
  for (const encoding of ['', 'Accept-Encoding: gzip\r\n']) {
    const [head, get] = await onOneConnection(
      [
        ['HEAD', '/large', encoding],
        ['GET', '/large', encoding],
      ],
      false,
    );
    for (const name of ['content-length', 'content-type', 'content-encoding', 'vary'])
      assert.equal(head?.headers.get(name), get?.headers.get(name), name);
    assert.equal(Number(head?.headers.get('content-length')), get?.body.length);
  }
  const [refused, allowed] = await onOneConnection(
    [
      ['HEAD', '/plain'],
      ['PUT', '/probe'],
    ],
    false,
  );
  assert.equal(refused?.headers.get('allow'), 'GET, OPTIONS');
  assert.equal(allowed?.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

const everywhere: Readonly<Record<string, RegExp>> = {
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'content-security-policy': /^default-src 'none'; frame-ancestors 'none'$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'permissions-policy': /camera=\(\).*geolocation=\(\).*microphone=\(\)/,
  'cache-control': /^no-store$/,
  'x-request-id': /./,
};

test('every answer has the headers that keep browsers and caches away from it', async () => {
  const asked = [
    ['GET', '/probe', 200],
    ['HEAD', '/probe', 200],
    ['GET', '/large', 200],
    ['GET', '/stream', 200],
    ['GET', '/nothing', 404],
    ['PUT', '/probe', 405],
    ['HEAD', '/plain', 405],
    ['OPTIONS', '/probe', 204],
    ['GET', '/refused', 503],
  ] as const;
  for (const [method, path, status] of asked) {
    const answer = await fetch(`${it.url}${path}`, { method });
    await answer.text();
    assert.equal(answer.status, status);
    for (const [name, value] of Object.entries(everywhere))
      assert.match(answer.headers.get(name) ?? '', value, `${method} ${path}: ${name}`);
    assert.equal(answer.headers.get('strict-transport-security'), null);
  }
});

test('headers of a route replace the common ones, once', async () => {
  const [answer] = await onOneConnection([['GET', '/page']], false);
  assert.equal(answer?.headers.get('content-security-policy'), policy);
  assert.equal(answer.headers.get('cache-control'), 'max-age=60');
  assert.equal(answer.headers.get('x-frame-options'), 'DENY');
  const fetched = await fetch(`${it.url}/page`);
  // fetch joins the values of a repeated header.
  assert.equal(fetched.headers.get('content-security-policy'), policy);
  assert.equal(fetched.headers.get('cache-control'), 'max-age=60');
});

test('over TLS, as the trusted proxy reports it, browsers must keep to TLS', async () => {
  const over = async (headers: Record<string, string>): Promise<string | null> =>
    (await fetch(`${it.url}/nothing`, { headers })).headers.get('strict-transport-security');
  assert.match(
    (await over({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' })) ?? '',
    /^max-age=\d+$/,
  );
  assert.equal(await over({ 'x-forwarded-proto': 'http', 'x-forwarded-for': '192.0.2.1' }), null);
});

test('an answer names the time of its connection, or closes it', async () => {
  const [kept, closed] = await onOneConnection(
    [
      ['GET', '/probe'],
      ['GET', '/probe', 'Connection: close\r\n'],
    ],
    false,
  );
  assert.equal(kept?.headers.get('keep-alive'), `timeout=${limits.keepAliveHintSeconds}`);
  assert.equal(kept.headers.get('connection'), 'keep-alive');
  assert.equal(closed?.headers.get('connection'), 'close');
  assert.equal(closed.headers.get('keep-alive'), undefined);
});

test('an idle connection lasts as long as its answer says', async () => {
  // The library checks every four seconds, so connections end after different times.
  const idleMs = (startMs: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = connect(it.server.port, '127.0.0.1');
      let sentMs = 0;
      socket.on('error', reject);
      socket.on('close', () => resolve(performance.now() - sentMs));
      socket.resume();
      setTimeout(() => {
        sentMs = performance.now();
        socket.write('GET /probe HTTP/1.1\r\nHost: x\r\n\r\n');
      }, startMs);
    });
  const times = await Promise.all([0, 700, 1400, 2100, 2800, 3500].map(idleMs));
  for (const time of times)
    assert.ok(time > limits.keepAliveHintSeconds * 1000, `an idle connection was closed after ${time} ms`);
});
