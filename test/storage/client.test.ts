import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { openStorage } from '../../src/storage/client.ts';
import { limits } from '../../src/storage/limits.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import type { EngineFailure } from '../../src/base/errors/engine-error.ts';
import type { Parameters, QueryOptions, Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
before(async () => {
  engine = await sharedEngine();
});

/** A flow as a stream. */
async function open(
  query: string,
  parameters: Parameters = {},
  options: QueryOptions = {},
  storage: Storage = engine.storage,
): Promise<Readable> {
  return toReadable(await storage.flow(query, parameters, options));
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

const failsWith = (failure: EngineFailure, engineCode?: number) => (error: unknown) => {
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.failure, failure, error.message);
  if (engineCode !== undefined) assert.equal(error.engineCode, engineCode);
  return true;
};

async function isRunning(queryId: string): Promise<boolean> {
  const rows = await engine.storage.rows('SELECT 1 FROM system.processes WHERE query_id = {id:String}', {
    id: queryId,
  });
  return rows.length > 0;
}

async function waitUntil(running: boolean, queryId: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if ((await isRunning(queryId)) === running) return;
    await sleep(25);
  }
  assert.fail(`query ${queryId} is ${running ? 'not ' : 'still '}running`);
}

test('parameters come back as they went, whatever they hold', async () => {
  const unit = fc.oneof(
    fc.constantFrom(
      "'",
      '"',
      '\\',
      '\\N',
      '`',
      '\n',
      '\r',
      '\t',
      '\0',
      '\b',
      '{a:String}',
      '&',
      '%41',
      '+',
      '😀',
      ']',
      ',',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  );
  const value = fc.string({ unit });
  await fc.assert(
    fc.asyncProperty(
      value,
      fc.array(value, { maxLength: 4 }),
      fc.bigInt(0n, 2n ** 64n - 1n),
      async (one, many, n) => {
        const rows = await engine.storage.rows(
          'SELECT {one:String} AS one, {many:Array(String)} AS many, {n:UInt64} AS n',
          { one, many, n },
        );
        assert.deepEqual(rows, [{ one, many, n: String(n) }]);
        const read = await engine.storage.readRows(
          'SELECT {one:String} AS one, {many:Array(String)} AS many, {n:UInt64} AS n',
          { one, many, n },
        );
        assert.deepEqual(read, rows);
      },
    ),
    { numRuns: 60 },
  );
});

test('a stream frames raw rows as one JSON array, whatever the delimiters hold', async () => {
  const frame = async (rows: number, before: string, after: string): Promise<string> => {
    const stream = await open(
      'SELECT raw FROM (SELECT concat(\'"n":\', toString(number), \',"t":"\\\\\\\\ \\\\" \', {odd:String}, \'"\') AS raw FROM numbers({rows:UInt64})) FORMAT CustomSeparated',
      { rows, odd: "tab\\t'" },
      {
        settings: {
          format_custom_escaping_rule: 'Raw',
          format_custom_field_delimiter: '',
          format_custom_row_before_delimiter: before,
          format_custom_row_after_delimiter: after,
          format_custom_row_between_delimiter: ',',
          format_custom_result_before_delimiter: '{"data":[',
          format_custom_result_after_delimiter: ']}',
        },
      },
    );
    return text(stream);
  };
  const product = `it's "so" \\ {n:String}\n\r\t %41+& 😀`;
  const head = `{"head":${JSON.stringify(product)},\n`;
  const tail = `,\t"tail":${JSON.stringify({ [product]: `\\'` })}}\r\n`;
  const body = await frame(3, head, tail);
  assert.deepEqual(
    JSON.parse(body),
    { data: [0, 1, 2].map((n) => ({ head: product, n, t: `\\ " tab\t'`, tail: { [product]: `\\'` } })) },
    body,
  );
  assert.equal(await frame(0, head, tail), '{"data":[]}');
});

/** A Native block of one UInt64 and one String column, by hand: counts, then for each column its name, type, values. */
function nativeBlock(rows: readonly (readonly [bigint, string])[]): Buffer[] {
  const short = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    assert.ok(bytes.length < 128);
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  };
  const numbers = Buffer.alloc(rows.length * 8);
  rows.forEach(([n], index) => numbers.writeBigUInt64LE(n, index * 8));
  return [
    Buffer.from([2, rows.length]),
    Buffer.concat([short('n'), short('UInt64'), numbers]),
    Buffer.concat([short('t'), short('String'), ...rows.map(([, value]) => short(value))]),
  ];
}

test('a Native body is stored as it is, in pieces, and nothing of a broken one', async () => {
  await engine.storage.command('CREATE TABLE native (n UInt64, t String) ENGINE = MergeTree ORDER BY n');
  const rows = [
    [18446744073709551615n, "q'\\"],
    [1n, '😀\n\t'],
  ] as const;
  await engine.storage.insertNative('INSERT INTO native FORMAT Native', nativeBlock(rows));
  assert.deepEqual(await engine.storage.rows('SELECT n, t FROM native ORDER BY n DESC'), [
    { n: '18446744073709551615', t: "q'\\" },
    { n: '1', t: '😀\n\t' },
  ]);
  const broken = nativeBlock(rows).slice(0, 2);
  await assert.rejects(
    engine.storage.insertNative('INSERT INTO native FORMAT Native', broken),
    failsWith('refused'),
  );
  assert.deepEqual(await engine.storage.rows('SELECT count() AS n FROM native'), [{ n: '2' }]);
});

test('rows are inserted as objects', async () => {
  await engine.storage.command(
    'CREATE TABLE objects (n UInt64, t String, o Nullable(String)) ENGINE = MergeTree ORDER BY n',
  );
  await engine.storage.insertRows('objects', []);
  await engine.storage.insertRows('objects', [
    { n: '18446744073709551615', t: "it's \\ \n\0", o: null },
    { n: 2, t: '😀', o: 'x' },
  ]);
  assert.deepEqual(await engine.storage.rows('SELECT * FROM objects ORDER BY n'), [
    { n: '2', t: '😀', o: 'x' },
    { n: '18446744073709551615', t: "it's \\ \n\0", o: null },
  ]);
});

test('what the engine refuses carries its number', async () => {
  await assert.rejects(engine.storage.rows('SELECT * FROM nothing_here'), failsWith('refused', 60));
  await assert.rejects(engine.storage.rows('SELECT FROM WHERE'), failsWith('refused', 62));
  await assert.rejects(engine.storage.readRows('SELECT * FROM nothing_here'), failsWith('refused', 60));
  await assert.rejects(engine.storage.flow('SELECT throwIf(1)'), failsWith('refused', 395));
  await assert.rejects(engine.storage.command('DROP TABLE nothing_here'), failsWith('refused', 60));
  await assert.rejects(engine.storage.insertRows('nothing_here', [{ a: 1 }]), failsWith('refused', 60));
});

test('reads cannot write', async () => {
  await assert.rejects(
    engine.storage.rows('CREATE TABLE forbidden (n UInt8) ENGINE = Memory'),
    failsWith('refused'),
  );
  await assert.rejects(engine.storage.flow('INSERT INTO events (seq) VALUES (1)'), failsWith('refused', 164));
});

test('a failure in mid-stream is an error, and its words are not in the bytes', async () => {
  const sql = 'SELECT number, throwIf(number = 3000000) FROM numbers(5000000) FORMAT TSV';
  const stream = await open(sql);
  const parts: Buffer[] = [];
  await assert.rejects(
    async () => {
      for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
    },
    failsWith('refused', 395),
  );
  const bytes = Buffer.concat(parts);
  assert.ok(bytes.length > 1_000_000);
  assert.equal(bytes.includes('Exception'), false);
  assert.equal(bytes.includes('__exception__'), false);
});

test('an abort before, during and after the header cancels the query', async () => {
  const aborted = AbortSignal.abort();
  await assert.rejects(engine.storage.rows('SELECT 1', {}, { signal: aborted }), failsWith('aborted'));

  const slow = 'SELECT sum(sleepEachRow(0.1)) FROM numbers(600) SETTINGS max_block_size = 1';
  const during = new AbortController();
  const rows = engine.storage.rows(slow, {}, { signal: during.signal, queryId: 'abort-during' });
  await Promise.all([
    assert.rejects(rows, failsWith('aborted')),
    waitUntil(true, 'abort-during').then(() => during.abort()),
  ]);
  await waitUntil(false, 'abort-during');

  const afterHeader = new AbortController();
  const queryId = 'abort-after';
  const stream = await open(
    'SELECT number, sleepEachRow(0.0001) FROM numbers(100000000) FORMAT TSV SETTINGS max_block_size = 1000',
    {},
    { signal: afterHeader.signal, queryId: 'abort-after', settings: { http_response_buffer_size: 1000 } },
  );
  await waitUntil(true, queryId);
  await assert.rejects(async () => {
    for await (const part of stream as AsyncIterable<Buffer>) {
      assert.ok(part.length > 0);
      afterHeader.abort();
    }
  }, failsWith('aborted'));
  await waitUntil(false, queryId);
});

test('a reader that goes away cancels the query', async () => {
  const queryId = 'reader-gone';
  const stream = await open('SELECT number FROM numbers(100000000000) FORMAT TSV', {}, { queryId });
  stream.on('data', () => undefined);
  await waitUntil(true, queryId);
  stream.destroy();
  await waitUntil(false, queryId);
});

test('time limits end a call and what it runs', async () => {
  const slow = 'SELECT sum(sleepEachRow(0.1)) FROM numbers(600) SETTINGS max_block_size = 1';
  const options = { timeoutMs: 200, queryId: 'too-slow' };
  await assert.rejects(engine.storage.rows(slow, {}, options), failsWith('timeout'));
  await waitUntil(false, 'too-slow');
  await assert.rejects(engine.storage.flow(slow, {}, { timeoutMs: 200 }), failsWith('timeout'));
});

test('an engine that is not there is unreachable', async () => {
  const nowhere = openStorage({ ...engine.connection, url: 'http://127.0.0.1:1' }, silentLog);
  await assert.rejects(nowhere.rows('SELECT 1'), failsWith('unreachable'));
  const body = nativeBlock([[1n, 'a']]);
  await assert.rejects(nowhere.insertNative('INSERT INTO t FORMAT Native', body), failsWith('unreachable'));
  assert.equal(await nowhere.ping(500), false);
  await nowhere.close();
  assert.equal(await engine.storage.ping(1000), true);
});

test('an engine that falls silent is a timeout, one that breaks off is unreachable', async () => {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.includes('query_id=silent')) return;
    response.writeHead(200).write('x'.repeat(100_000), () => {
      if (request.url?.includes('query_id=cut')) response.destroy();
      else if (!request.url?.includes('query_id=stall')) response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const storage = openStorage({ ...engine.connection, url: `http://127.0.0.1:${port}/some/path` }, silentLog);
  await assert.rejects(storage.rows('a', {}, { queryId: 'silent', timeoutMs: 100 }), failsWith('timeout'));
  assert.equal(await storage.ping(100), false);
  const stream = await open('b', {}, { queryId: 'cut' }, storage);
  await assert.rejects(text(stream), failsWith('unreachable'));
  const stalled = await open('c', {}, { queryId: 'stall', timeoutMs: 200 }, storage);
  await assert.rejects(text(stalled), failsWith('timeout'));
  assert.equal((await text(await open('d', {}, {}, storage))).length, 100_000);
  await storage.close();
  server.closeAllConnections();
  server.close();
});

test('no statement goes to a connection that grew too old while nothing could run', async () => {
  const connections = new Set<unknown>();
  const server = createServer((request, response) => {
    connections.add(request.socket);
    request.resume();
    response.end();
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const storage = openStorage({ ...engine.connection, url: `http://127.0.0.1:${port}` }, silentLog);
  await storage.rows('a');
  await storage.rows('b');
  assert.equal(connections.size, 1, 'a connection is used again');
  await sleep(5);
  const until = performance.now() + limits.engineIdleConnectionMs + 100;
  while (performance.now() < until);
  await storage.rows('c');
  assert.equal(connections.size, 2);
  await storage.close();
  server.close();
});
