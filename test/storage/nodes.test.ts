import { strict as assert } from 'node:assert';
import { getEventListeners } from 'node:events';
import { after, afterEach, before, describe, it } from 'node:test';
import { type ByteFlow, toReadable } from '../../src/base/bytes/byte-flow.ts';
import type { Logger } from '../../src/base/observability/log.ts';
import { nextSegmentNumber, segmentSeqRange } from '../../src/base/events/sequence.ts';
import { openStorage } from '../../src/storage/client.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';

async function readAll(flow: ByteFlow): Promise<Buffer> {
  return Buffer.concat((await toReadable(flow).toArray()) as Buffer[]);
}

/** One engine with two addresses, each of which can fail; what the nodes of a cluster look like to the service. */
describe('several addresses of an engine', () => {
  let engine: PlainEngine;
  let first: FaultProxy;
  let second: FaultProxy;
  let storage: Storage;
  before(async () => {
    engine = await startPlainEngine();
    [first, second] = await Promise.all([startFaultProxy(engine.port), startFaultProxy(engine.port)]);
    const { user, password } = engine;
    const connection = { url: first.url, otherUrls: [second.url], user, password, headers: {} };
    storage = openStorage({ ...connection, database: 'audit' }, log);
    await migrate(storage, { log: silentLog });
  });
  after(async () => {
    await storage.close();
    await Promise.all([first.stop(), second.stop()]);
    await engine.stop();
  });
  afterEach(async () => {
    first.set('none');
    second.set('none');
    await allAnswer();
  });
  /** Addresses that do not answer, as the log tells it. */
  const down = new Set<string>();
  const log = {
    debug: () => undefined,
    info: ({ url }: { url: string }) => void down.delete(url),
    warn: ({ url }: { url: string }) => void down.add(url),
  } as unknown as Logger;
  const allAnswer = () =>
    eventually('every address to answer', async () => (down.size === 0 ? true : undefined));

  const numbers = (count: number) => `SELECT number FROM numbers(${count}) FORMAT RowBinary`;
  const holding = { headroom: 0, tailroom: 0, bytesMax: 100_000_000 };
  const bufferedBytes = async (query: string) => {
    const held = await storage.bytes(query, {}, holding);
    assert.ok('release' in held);
    held.release();
    return held.end - held.start;
  };
  const flowBytes = async (query: string) => (await readAll(await storage.flow(query))).length;
  const answers = async () => {
    assert.deepEqual(await storage.rows('SELECT 1 AS one'), [{ one: 1 }]);
    assert.deepEqual(await storage.readRows('SELECT 2 AS two'), [{ two: 2 }]);
    assert.equal(await bufferedBytes(numbers(1000)), 8000);
    assert.equal(await flowBytes(numbers(100_000)), 800_000);
    await storage.insertRows('leases', [{ name: 'n', owner: '11111111-1111-1111-1111-111111111111' }]);
  };

  it('takes the next one where the first refuses, and the first again when it answers', async () => {
    first.set('refuse');
    await answers();
    assert.deepEqual([...down], [first.url]);
    first.set('none');
    await allAnswer();
    second.set('refuse');
    await answers();
  });

  it('does not wait for one that hangs as long as a read may take', async () => {
    first.set('hang');
    const begunMs = performance.now();
    await answers();
    assert.ok(performance.now() - begunMs < patience(25_000));
  });

  it('begins a held result anew at the next when the first breaks off in it, and never a flow', async () => {
    first.set({ cutAfterBytes: 300_000 });
    assert.equal(await bufferedBytes(numbers(500_000)), 4_000_000);
    await assert.rejects(flowBytes(numbers(500_000)), { failure: 'unreachable' });
  });

  it('does not carry a command out twice', async () => {
    first.set('refuse');
    await assert.rejects(storage.command('SELECT 1'), { failure: 'unreachable' });
    // The next one goes where somebody answers.
    assert.deepEqual([...down], [first.url]);
    await storage.command('SELECT 1');
  });

  it('asks at every address what became of a segment, and which do not answer', async () => {
    const range = segmentSeqRange(nextSegmentNumber(Date.now(), 5, 0));
    const ask = () => storage.rowsOfEach('SELECT count() AS n FROM events WHERE seq = {first:UInt64}', range);
    assert.deepEqual(await ask(), { rows: [{ n: '0' }, { n: '0' }], silent: 0 });
    second.set('refuse');
    assert.deepEqual(await ask(), { rows: [{ n: '0' }], silent: 1 });
    first.set('refuse');
    await assert.rejects(ask(), { failure: 'unreachable' });
  });

  it('fails at once, and as ever, where none answers', async () => {
    first.set('refuse');
    second.set('refuse');
    const begunMs = performance.now();
    await assert.rejects(storage.rows('SELECT 1'), { failure: 'unreachable' });
    await assert.rejects(storage.flow(numbers(1)), { failure: 'unreachable' });
    await assert.rejects(storage.command('SELECT 1'), { failure: 'unreachable' });
    assert.equal(await storage.ping(1000), false);
    assert.ok(performance.now() - begunMs < patience(10_000));
  });

  it('ends with the caller, wherever the request is', async () => {
    const ending = new AbortController();
    const slow = storage.rows('SELECT sleep(3)', {}, { signal: ending.signal });
    ending.abort();
    await assert.rejects(slow, { failure: 'aborted' });
    const flow = new AbortController();
    const begun = await storage.flow(numbers(100_000_000), {}, { signal: flow.signal });
    const read = readAll(begun);
    flow.abort();
    await assert.rejects(read, { failure: 'aborted' });
  });

  it('leaves nothing on the signal of a caller, which may be that of a process', async () => {
    const { signal } = new AbortController();
    const listeners = () => getEventListeners(signal, 'abort').length;
    await storage.rows('SELECT 1', {}, { signal });
    await storage.command('SELECT 1', {}, { signal });
    await assert.rejects(storage.rows('SELECT nothing', {}, { signal }), { failure: 'refused' });
    assert.equal(listeners(), 0);
    const flow = await storage.flow(numbers(100_000), {}, { signal });
    assert.ok(listeners() > 0);
    await readAll(flow);
    (await storage.flow(numbers(100_000_000), {}, { signal })).destroy();
    assert.equal(listeners(), 0);
  });
});
