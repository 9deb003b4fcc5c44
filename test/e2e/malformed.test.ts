import { strict as assert } from 'node:assert';
import { randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, before, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { acceptedOf, type HttpAnswer, problemOf, rawExchange } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'malformed');
});

/** How many events of a flow must be readable at the end of a test: one wait for all that it sent. */
const stored = new Map<string, number>();

// Whatever a test sends, the very same process answers the next request.
afterEach(async () => {
  for (const [flowId, count] of stored) await tenant.settled(count, { flowId });
  stored.clear();
  assert.equal((await tenant.get('limit=1')).status, 200);
  assert.ok(!server.stderrLines().some((line) => /"level":60|unhandled|uncaught/i.test(line)));
});

/** Text of an event with this raw JSON as a value of its `extra`. */
const withExtra = (flow: string, raw: string) =>
  `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"flow_id":"${flow}","extra":{"x":${raw}}}}`;

/**
 * Sends a doubtful event between two good ones. Whatever is decided about it, the good ones are stored, the answer
 * tells the truth, and what is stored can be read as JSON.
 */
async function amongGood(
  event: string | Buffer,
  form: 'json' | 'ndjson',
  flow = randomUUID(),
): Promise<boolean> {
  const good = JSON.stringify(sourceEvent({ flow_id: flow }));
  const [open, separator, close] = form === 'json' ? ['[', ',', ']'] : ['', '\n', '\n'];
  const body = Buffer.concat([
    Buffer.from(`${open}${good}${separator}`),
    Buffer.from(event),
    Buffer.from(`${separator}${good}${close}`),
  ]);
  const type = form === 'json' ? 'application/json' : 'application/x-ndjson';
  const answer = acceptedOf(await tenant.post(body, { 'content-type': type }));
  assert.equal(answer.accepted + answer.rejected, 3);
  assert.ok(answer.accepted >= 2);
  if (answer.rejected === 1) assert.equal(answer.errors[0]?.index, 1);
  stored.set(flow, answer.accepted);
  return answer.accepted === 3;
}

/** As `amongGood`, where the event itself may carry the flow. */
const doubtful = async (raw: string, form: 'json' | 'ndjson' = 'json') => {
  const flow = randomUUID();
  return amongGood(withExtra(flow, raw), form, flow);
};

describe('events', () => {
  test('nesting 10,000 deep', async () => {
    const depth = 10_000;
    const lists = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const raw of [lists, objects]) {
      await doubtful(raw, 'json');
      await doubtful(raw, 'ndjson');
    }
    for (const body of [lists, objects, '['.repeat(depth), '{"a":'.repeat(depth), '['.repeat(4_000_000)]) {
      problemOf(await tenant.post(body), 400);
    }
  });

  test('moderate nesting is ordinary', async () => {
    assert.equal(await doubtful(`${'['.repeat(60)}1${']'.repeat(60)}`), true);
  });

  test('lone surrogates, NUL, odd escapes', async () => {
    for (const raw of [
      '"\\ud800"',
      '"\\udc00x"',
      '"\\ud800\\ud800"',
      '"\\u0000"',
      '{"\\u0000":1}',
      '{"\\ud800":1}',
    ]) {
      await doubtful(raw, 'json');
      await doubtful(raw, 'ndjson');
    }
    assert.equal(await doubtful('"\\ud83c\\udf89 \\/ \\b\\f\\u00e9"'), true);
  });

  test('what is not JSON costs only its own NDJSON line', async () => {
    const raw = [
      'tru',
      "'x'",
      '01',
      '+1',
      '.5',
      '1.',
      '0x1',
      'NaN',
      'Infinity',
      '"\t"',
      '"\\x41"',
      '"\\u00g0"',
      '[1,]',
      '{"a":1,}',
      '{a:1}',
      '"',
      '[1 2]',
    ];
    for (const one of raw) assert.equal(await doubtful(one, 'ndjson'), false, one);
  });

  test('huge numbers', async () => {
    for (const raw of ['1e400', '-1e400', '1e-400', '9'.repeat(5000), `0.${'1'.repeat(5000)}`, '1E+308']) {
      await doubtful(raw);
    }
    for (const [field, value] of [
      ['timestamp', '1e400'],
      ['timestamp', '99999999999999999999'],
      ['timestamp', '1e300'],
      ['action', '99999999999999999999'],
      ['action', '1e400'],
    ]) {
      const text = `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"${field}":${value}}}`;
      problemOf(await tenant.post(text), 400);
    }
    const port = '{"message":{"timestamp":0,"action":1,"remote":{"port":1e400}}}';
    problemOf(await tenant.post(port), 400);
  });

  test('duplicate keys', async () => {
    const flow = randomUUID();
    const text = `{"message":{"action":1},"message":{"timestamp":0,"timestamp":200000000000000,"action":3,"action":4,"flow_id":"${flow}","extra":{"a":1,"a":2}}}`;
    assert.equal(acceptedOf(await tenant.post(text)).accepted, 1);
    const [event] = (await tenant.settled(1, { flowId: flow })).data;
    assert.equal(event?.time, 200_000_000_000_000);
    assert.equal(event?.activity_id, 4);
    assert.deepEqual(event?.extra_map, { a: 2 });
  });

  test('bytes that are not UTF-8 are refused, alone in their line', async () => {
    for (const bytes of [
      [0xff],
      [0xc3],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xc0, 0xaf],
      [0x80],
    ]) {
      const flow = randomUUID();
      const [head, tail] = withExtra(flow, '"~"').split('~');
      const event = Buffer.concat([Buffer.from(head ?? ''), Buffer.from(bytes), Buffer.from(tail ?? '')]);
      assert.equal(await amongGood(event, 'ndjson', flow), false, String(bytes));
      problemOf(await tenant.post(event), 400);
    }
  });

  test('very many members, very long keys', async () => {
    const members = Array.from({ length: 20_000 }, (_, n) => `"k${n}":${n}`).join(',');
    assert.equal(await doubtful(`{${members}}`), true);
    assert.equal(await doubtful(`{"${'k'.repeat(200_000)}":1}`), true);
    // 20,000 top-level keys of extra are 20,000 enrichments.
    const flow = randomUUID();
    const wide = `{"message":{"timestamp":0,"action":1,"flow_id":"${flow}","extra":{${members}}}}`;
    assert.equal(acceptedOf(await tenant.post(wide)).accepted, 1);
    const [event] = (await tenant.settled(1, { flowId: flow })).data;
    assert.equal(event?.enrichments?.length, 20_000);
  });

  test('random bytes are never accepted and never an error of the service', async () => {
    for (let n = 0; n < 60; n++) {
      const type = n % 2 === 0 ? 'application/json' : 'application/x-ndjson';
      problemOf(await tenant.post(randomBytes(1 + (n % 20) * 97), { 'content-type': type }), 400);
    }
  });
});

describe('compressed bodies', () => {
  test('what does not decompress is a 400 and stores nothing', async () => {
    const zstd = await Zstd.load();
    const flow = randomUUID();
    const plain = Buffer.from(
      JSON.stringify(
        Array.from({ length: 500 }, () => sourceEvent({ flow_id: flow, extra: { r: randomUUID() } })),
      ),
    );
    const encoded: Record<string, Buffer> = {
      gzip: gzipSync(plain),
      deflate: deflateSync(plain),
      br: brotliCompressSync(plain),
      zstd: Buffer.from(zstd.compress(plain)),
    };
    for (const [encoding, body] of Object.entries(encoded)) {
      const headers = { 'content-encoding': encoding };
      const flipped = Buffer.from(body);
      const middle = Math.floor(body.length / 2);
      for (let n = 0; n < 8; n++) flipped[middle + n] = (flipped[middle + n] ?? 0) ^ 0xff;
      const broken: Record<string, Buffer> = {
        empty: Buffer.alloc(0),
        truncated: body.subarray(0, middle),
        'one byte short': body.subarray(0, -1),
        'the head only': body.subarray(0, 4),
        // The other two need not carry a checksum, so changed bytes may decode to something else.
        ...(encoding === 'gzip' || encoding === 'deflate' ? { flipped } : {}),
        'not compressed': plain,
        noise: randomBytes(1000),
      };
      for (const [what, bytes] of Object.entries(broken)) {
        const answer = await tenant.post(bytes, headers);
        assert.equal(
          answer.status,
          400,
          `${encoding}, ${what}: ${answer.status} ${answer.text.slice(0, 200)}`,
        );
        problemOf(answer, 400);
      }
      // Under the name of another coding.
      for (const other of Object.keys(encoded).filter((name) => name !== encoding)) {
        problemOf(await tenant.post(body, { 'content-encoding': other }), 400);
      }
    }
    await tenant.caughtUp();
    await tenant.settled(0, { flowId: flow });
  });

  test('compressed NDJSON cut short stores nothing of itself', async () => {
    const flow = randomUUID();
    const lines = Array.from({ length: 2000 }, () =>
      JSON.stringify(sourceEvent({ flow_id: flow, extra: { r: randomUUID() } })),
    );
    const body = gzipSync(lines.join('\n'));
    const answer = await tenant.post(body.subarray(0, body.length - 5000), {
      'content-type': 'application/x-ndjson',
      'content-encoding': 'gzip',
    });
    problemOf(answer, 400);
    await tenant.caughtUp();
    await tenant.settled(0, { flowId: flow });
  });
});

describe('requests that are hardly HTTP', () => {
  const statusOf = (text: string) => /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  const head = (lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`;

  test('garbage heads are refused or dropped, never answered with a success', async () => {
    const requests: (string | Uint8Array)[] = [
      'nonsense\r\n\r\n',
      '\r\n\r\n\r\n',
      '\0\0\0\0\0\0\0\0',
      randomBytes(4000),
      'GET\r\n\r\n',
      'GET /api/v1/audit\r\n\r\n',
      'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n',
      'GET  /healthz  HTTP/1.1\r\nHost: x\r\n\r\n',
      head(['GET /healthz HTTP/1.1', 'Host']),
      head(['GET /healthz HTTP/1.1', ': x', 'Host: x']),
      head(['GET /healthz HTTP/1.1', 'Host: x', 'Bad Name: x']),
      head(['GET /healthz HTTP/1.1', 'Host: x', `Big: ${'x'.repeat(1_000_000)}`]),
      head(['GET /healthz HTTP/1.1', 'Host: x', ...Array.from({ length: 5000 }, (_, n) => `H${n}: x`)]),
      head([`GET /${'x'.repeat(1_000_000)} HTTP/1.1`, 'Host: x']),
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ];
    for (const request of requests) {
      const { text } = await rawExchange(server.port, [request], { quietMs: 300 });
      const status = statusOf(text);
      if (status !== undefined)
        assert.match(status, /^[45]/, `${String(request).slice(0, 60)}: ${text.slice(0, 100)}`);
    }
  });

  test('lengths that cannot be', async () => {
    const post = (lines: readonly string[], body = '') =>
      rawExchange(
        server.port,
        [
          head([
            'POST /api/v1/audit HTTP/1.1',
            'Host: x',
            `X-API-Key: ${tenant.key}`,
            'Content-Type: application/json',
            ...lines,
          ]),
          body,
        ],
        { quietMs: 500 },
      );
    const flow = randomUUID();
    const event = JSON.stringify(sourceEvent({ flow_id: flow }));
    const impossible: readonly (readonly [readonly string[], string])[] = [
      [['Content-Length: -1'], event],
      [['Content-Length: 99999999999999999999999'], event],
      [['Content-Length: abc'], event],
      [['Content-Length: 1e3'], event],
      [['Content-Length: 5', `Content-Length: ${event.length}`], event],
      [['Transfer-Encoding: chunked'], 'zz\r\nnonsense\r\n0\r\n\r\n'],
      [['Transfer-Encoding: chunked'], `-5\r\n${event}\r\n0\r\n\r\n`],
      [['Transfer-Encoding: chunked'], `ffffffffffffffffff\r\n${event}\r\n0\r\n\r\n`],
      [[`Content-Length: ${event.length}`, 'Transfer-Encoding: chunked'], event],
    ];
    for (const [lines, body] of impossible) {
      const { text } = await post(lines, body);
      const status = statusOf(text);
      if (status !== undefined) assert.match(status, /^[45]/, `${lines.join(' | ')}: ${text.slice(0, 200)}`);
    }
    await tenant.caughtUp();
    await tenant.settled(0, { flowId: flow });
  });

  test('a body cut off by its sender stores nothing', async () => {
    const flow = randomUUID();
    const line = `${JSON.stringify(sourceEvent({ flow_id: flow }))}\n`;
    for (let n = 0; n < 5; n++) {
      await new Promise<void>((resolve) => {
        const socket = connect({ host: '127.0.0.1', port: server.port });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
        socket.write(
          head([
            'POST /api/v1/audit HTTP/1.1',
            'Host: x',
            `X-API-Key: ${tenant.key}`,
            'Content-Type: application/x-ndjson',
            `Content-Length: ${line.length * 100}`,
          ]) + line.repeat(50),
          () => (n % 2 === 0 ? socket.destroy() : socket.resetAndDestroy()),
        );
      });
    }
    await tenant.caughtUp();
    await tenant.settled(0, { flowId: flow });
  });

  test('a reader that goes away in the middle harms nobody', async () => {
    await tenant.record(Array.from({ length: 1000 }, () => sourceEvent({ extra: { pad: 'x'.repeat(500) } })));
    await Promise.all(
      Array.from(
        { length: 20 },
        (_, n) =>
          new Promise<void>((resolve) => {
            const socket = connect({ host: '127.0.0.1', port: server.port });
            socket.on('error', () => undefined);
            socket.on('close', () => resolve());
            socket.on('data', () => socket.destroy());
            socket.write(
              head(['GET /api/v1/audit?limit=1000 HTTP/1.1', 'Host: x', `X-API-Key: ${tenant.key}`]),
            );
            if (n % 2 === 0) setTimeout(() => socket.destroy(), n);
          }),
      ),
    );
  });

  test('several requests in one packet are answered in their order, or the connection ends', async () => {
    const one = (path: string) => head([`GET ${path} HTTP/1.1`, 'Host: x', `X-API-Key: ${tenant.key}`]);
    const { text, closed } = await rawExchange(
      server.port,
      [one('/api/v1/audit?limit=1') + one('/healthz') + one('/nothing') + one('/api/v1/audit?limit=2')],
      { quietMs: 1500, until: (received) => received.includes('"limit":2') },
    );
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
    assert.deepEqual(statuses, ['200', '200', '404', '200'].slice(0, statuses.length));
    // A client that does not wait may be cut off, but is not left hanging and never takes one answer for another.
    assert.ok(closed || statuses.length === 4, `${statuses.length} answers and an open connection`);
    if (statuses.length === 4) assert.ok(text.indexOf('"limit":1,') < text.indexOf('"limit":2,'));
    assert.equal((await tenant.get('limit=1')).status, 200);
  });
});

test('a wrong key with a large body is refused as any other', async () => {
  const body = JSON.stringify(sourceEvent()).padEnd(8_000_000);
  const answers: HttpAnswer[] = await Promise.all(
    Array.from({ length: 5 }, () => tenant.with({ key: 'wrong' }).post(body)),
  );
  for (const answer of answers) problemOf(answer, 401);
});
