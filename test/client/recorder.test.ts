import { strict as assert } from 'node:assert';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  createClient,
  type ClientOptions,
  type AuditlogError,
  type Rejection,
} from '../../src/client/client.ts';
import { retryDelayMs, retryPolicy } from '../../src/client/retry.ts';
import { type Remote, remoteKey, reply, startRemote } from './remote.ts';

let remote: Remote;
before(async () => {
  remote = await startRemote();
});
after(() => remote.close());
beforeEach(() => {
  remote.fault = undefined;
  remote.requests.length = 0;
  remote.stored.length = 0;
});

const quick = { delayMsMin: 5, delayMsMax: 20 };
const event = (n: number, more: object = {}) => ({
  time: 1_700_000_000_000_000 + n,
  message: { action: n },
  ...more,
});
const actions = () =>
  remote.stored.map((line) => (JSON.parse(line) as ReturnType<typeof event>).message.action);
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);

function client(more: Partial<ClientOptions> = {}) {
  const errors: [string, number][] = [];
  const rejections: Rejection[] = [];
  const made = createClient({
    url: remote.url,
    apiKey: remoteKey,
    writeRetry: quick,
    readRetry: quick,
    onError: (error: AuditlogError, events) => errors.push([error.code, events]),
    onRejected: (some) => rejections.push(...some),
    ...more,
  });
  return { ...made, errors, rejections };
}

describe('recording', () => {
  test('sends batches by count, in order, and reports them stored', async () => {
    const { record, flush, close } = client({ batch: { events: 100 } });
    for (const n of numbers(250)) assert.equal(record(event(n)), true);
    const report = await flush();
    const all = { acknowledged: 250, rejected: 0, failed: 0, dropped: 0, pending: 0, complete: true };
    assert.deepEqual(report, all);
    assert.deepEqual(actions(), numbers(250));
    assert.equal(remote.requests.length, 3);
    assert.ok(remote.requests.every(({ headers }) => headers['content-encoding'] === 'gzip'));
    assert.deepEqual(await close(), { ...all, acknowledged: 0 });
  });

  test('sends after the delay and by bytes, small bodies as they are', async () => {
    const { record, counts } = client({ batch: { delayMs: 20, bytes: 200 } });
    record(event(1));
    while (counts().pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(actions(), [1]);
    assert.equal(remote.requests[0]?.headers['content-encoding'], undefined);
    for (const n of numbers(10)) record(event(n, { msg: 'x'.repeat(80) }));
    while (counts().pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(remote.requests.length, 1 + 10);
  });

  test('repeats with the same key and body after any failure, and nothing is stored twice', async () => {
    const faults = [
      (response: Parameters<NonNullable<Remote['fault']>>[1]) => response.destroy(),
      (response: Parameters<NonNullable<Remote['fault']>>[1]) =>
        reply(response, 503, {}, { 'retry-after': '0' }),
      (response: Parameters<NonNullable<Remote['fault']>>[1]) => reply(response, 500, {}),
      (response: Parameters<NonNullable<Remote['fault']>>[1]) => response.end('no JSON'),
      (response: Parameters<NonNullable<Remote['fault']>>[1]) => response.end('{"accepted":1'),
    ];
    let at = 0;
    remote.fault = (seen, response) => {
      // Stored, but the answer is lost.
      if (at === 0 && remote.requests.length === 1) {
        const done = response.end.bind(response);
        response.end = (() => {
          response.end = done;
          return response.destroy();
        }) as never;
        return false;
      }
      const fault = faults[at++];
      fault?.(response);
      return fault !== undefined && seen.method === 'POST';
    };
    const { record, flush, errors } = client();
    for (const n of numbers(20)) record(event(n));
    assert.equal((await flush()).complete, true);
    assert.deepEqual(actions(), numbers(20));
    assert.equal(remote.requests.length, 7);
    assert.equal(new Set(remote.requests.map(({ headers }) => headers['idempotency-key'])).size, 1);
    assert.equal(new Set(remote.requests.map(({ body }) => body)).size, 1);
    assert.deepEqual(errors, []);
  });

  test('a service that was away for long is asked again within two seconds of its return', () => {
    const policy = retryPolicy({}, Number.POSITIVE_INFINITY);
    const delays = numbers(200).map((attempt) => retryDelayMs(policy, attempt));
    assert.ok(Math.max(...delays) <= 2_000, `${Math.max(...delays)} ms`);
  });

  test('waits as long as Retry-After', async () => {
    let refused = 0;
    remote.fault = (_, response) => refused++ === 0 && reply(response, 429, {}, { 'retry-after': '1' });
    const { record, flush } = client();
    const begun = performance.now();
    record(event(1));
    assert.equal((await flush()).complete, true);
    assert.ok(performance.now() - begun >= 1000);
  });

  test('reports refused events, also if all are', async () => {
    const { record, flush, rejections } = client();
    for (const n of numbers(5)) record(event(n, n % 2 === 1 ? { msg: 'bad' } : {}));
    const report = await flush();
    assert.deepEqual([report.acknowledged, report.rejected, report.complete], [3, 2, false]);
    assert.deepEqual(
      rejections.map(({ event, error }) => [event.message.action, error]),
      [
        [1, '/msg: is bad'],
        [3, '/msg: is bad'],
      ],
    );
    record(event(9, { msg: 'bad' }));
    assert.equal((await flush()).rejected, 1);
    assert.equal(rejections.length, 3);
  });

  test('reports each refused event of any batch', async () => {
    const { record, flush, rejections } = client();
    for (const n of numbers(300)) record(event(n, n % 2 === 1 ? { msg: 'bad' } : {}));
    assert.equal((await flush()).rejected, 150);
    assert.deepEqual(
      rejections.map(({ event }) => event.message.action),
      numbers(150).map((n) => 2 * n + 1),
    );
    // The largest batch, refused as a whole with long reasons.
    const whole = client({ batch: { events: 10_000 } });
    const error = `/message/timestamp: must be ${'a time '.repeat(20)}`;
    const errors = numbers(10_000).map((index) => ({ index, error }));
    remote.fault = (_, response) =>
      reply(response, 400, { status: 400, accepted: 0, rejected: 10_000, errors });
    for (const n of numbers(10_000)) whole.record(event(n));
    assert.equal((await whole.flush()).rejected, 10_000);
    assert.equal(whole.rejections.filter((one) => one.error === error).length, 10_000);
  });

  test('divides a batch that is too large, gives up one refused as a whole, and continues', async () => {
    remote.fault = ({ body }, response) => body.split('\n').length > 3 && reply(response, 413, {});
    const { record, flush, errors } = client();
    for (const n of numbers(10)) record(event(n));
    assert.equal((await flush()).acknowledged, 10);
    assert.deepEqual(actions(), numbers(10));
    remote.fault = (_, response) => reply(response, 401, {});
    record(event(1));
    record(event(2));
    assert.equal((await flush()).failed, 2);
    assert.deepEqual(errors, [['http', 2]]);
    remote.fault = undefined;
    record(event(11));
    assert.equal((await flush()).complete, true);
  });

  test('gives up after its time, and holds no more than its queue: the newest are dropped', async () => {
    remote.fault = (_, response) => reply(response, 500, {});
    const { record, flush, close, counts, errors } = client({
      queue: { events: 10 },
      batch: { events: 4, delayMs: 5 },
      writeRetry: { ...quick, giveUpAfterMs: 150 },
    });
    const taken = numbers(15).map((n) => record(event(n)));
    assert.deepEqual(
      taken,
      numbers(15).map((n) => n < 10),
    );
    assert.deepEqual(
      errors,
      numbers(5).map(() => ['queue_full', 1]),
    );
    const report = await flush({ timeoutMs: 20 });
    assert.deepEqual([report.pending, report.dropped, report.complete], [10, 5, false]);
    const later = await flush();
    assert.deepEqual([later.pending, later.failed, later.dropped], [0, 10, 0]);
    remote.fault = undefined;
    assert.equal(record(event(20)), true);
    assert.equal((await close()).complete, true);
    assert.equal(record(event(21)), false);
    assert.deepEqual(counts(), { acknowledged: 1, rejected: 0, failed: 10, dropped: 6, pending: 0 });
  });

  test('waits as long as asked, even longer than a timer can', async () => {
    const { record, flush, close } = client();
    for (const [n, settle] of [flush, close].entries()) {
      record(event(n));
      assert.equal((await settle({ timeoutMs: Number.POSITIVE_INFINITY })).complete, true);
    }
  });

  test('never throws: cycles, BigInt, no object, callbacks that throw', async () => {
    const warned: string[] = [];
    const listen = (warning: Error) => warned.push(warning.message);
    process.on('warning', listen);
    const { record, flush } = client({
      onError: () => {
        throw new Error('mine');
      },
    });
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    for (const bad of [cycle, { big: 1n }, undefined, null, 'text', [], () => 1])
      assert.equal(record(bad as never), false);
    assert.equal((await flush()).dropped, 7);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    assert.ok(warned.every((text) => text.includes('mine')));
    assert.equal(warned.length, 7);
  });

  test('close gives up what cannot be sent in time', async () => {
    remote.fault = () => true; // Never answers.
    const { record, close } = client();
    record(event(1));
    const begun = performance.now();
    const report = await close({ timeoutMs: 50 });
    assert.deepEqual([report.pending, report.failed, report.complete], [1, 0, false]);
    assert.ok(performance.now() - begun < 5000);
  });

  test('refuses options that cannot work', () => {
    for (const bad of [
      { url: 'ftp://x' },
      { url: 'http://u:p@x' },
      { url: 'nonsense' },
      { apiKey: '' },
      { apiKey: 'a\nb' },
      { timeoutMs: 0 },
      { timeoutMs: Number.NaN },
      { queue: { events: 0 } },
      { requestsAtOnce: 17 },
    ])
      assert.throws(() => client(bad), TypeError);
  });
});
