import { crc32c } from '@node-rs/crc32';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { strict as assert } from 'node:assert';
import { EventEmitter, once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from '../support/patience.ts';
import { limits } from '../../src/ingest/limits.ts';
import { Arrivals } from '../../src/ingest/arrivals.ts';
import { type Accept, createAccept } from '../../src/ingest/accept.ts';
import { Batcher } from '../../src/ingest/batcher.ts';
import { Idempotency } from '../../src/ingest/idempotency.ts';
import { LargeBodies } from '../../src/ingest/large-bodies.ts';
import { WorkerPool } from '../../src/ingest/pool.ts';
import type { IngestRequest } from '../../src/ingest/request.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { builtWorker } from '../support/cli-command.ts';
import { silentLog } from '../support/engine.ts';
import { createTornFiles } from '../support/torn-files.ts';

const disk = () => createTornFiles({ cutAfter: Number.MAX_SAFE_INTEGER, random: Math.random }).files;

const worker = { appName: 'Test', redactKeys: [] };

function request(marker: string): IngestRequest {
  const event = { time: '2026-05-01T10:00:00Z', message: { action: 1001, extra: { marker } } };
  return {
    body: new Uint8Array(Buffer.from(JSON.stringify(event))),
    form: 'json',
    encoding: 'identity',
    organization: { id: '0b7f2a50-0000-4000-8000-000000000001', slug: 'acme', retentionDays: undefined },
    idempotency: undefined,
  };
}

async function acceptOn(pool: WorkerPool): Promise<{ accept: Accept; wal: Wal }> {
  const wal = await Wal.open({
    files: disk(),
    log: silentLog,
    segmentBytes: 1e6,
    bytesMax: 1e9,
    nowMs: Date.now,
    damage: new DamageRegister(),
  });
  const accept = createAccept({
    pools: { small: pool, large: pool },
    wal,
    arrivals: new Arrivals(0),
    idempotency: await Idempotency.open(disk(), Date.now, silentLog),
    bodyBytesMax: 1e6,
    directory: () => ({ version: 1, json: Buffer.from('[]') }),
    accepted: () => {},
    rejected: () => {},
  });
  return { accept, wal };
}

describe('workers that wait for the engine', () => {
  it('hold the oldest task until it is its turn, for two seconds at most, and close at once', async () => {
    let delayMs = 60_000;
    let taken = 0;
    const throttle = { delayMs: () => delayMs, admitted: (rows: number) => (taken += rows) };
    const pool = new WorkerPool({ threads: 1, worker, log: silentLog, filename: builtWorker, throttle });
    const { accept } = await acceptOn(pool);
    const began = performance.now();
    await accept(request('a'));
    assert.ok(performance.now() - began >= limits.throttleHoldMsMax);
    assert.equal(taken, 1);
    const second = accept(request('b'));
    await sleep(100);
    assert.equal(pool.queued(), 1);
    delayMs = 0;
    await second;
    assert.equal(taken, 2);
    delayMs = 60_000;
    const ended = assert.rejects(accept(request('c')), { code: 'unavailable' });
    await sleep(100);
    await pool.close();
    await ended;
    await assert.rejects(accept(request('d')), { code: 'unavailable' });
    assert.equal(taken, 2);
  });
});

describe('requests that wait for workers', () => {
  it('are gathered into few tasks', async () => {
    let delayMs = 60_000;
    const throttle = { delayMs: () => delayMs, admitted: () => undefined };
    const pool = new WorkerPool({ threads: 1, worker, log: silentLog, filename: builtWorker, throttle });
    const { accept } = await acceptOn(pool);
    const aFifth = 'x'.repeat(limits.gatherBytesMax / 5);
    const all = Array.from({ length: limits.gatherQueuedTasks * 5 }, () => accept(request(aFifth)));
    for (let n = 0; n < 30; n++) {
      all.push(accept(request(`${n}`)));
      await sleep(limits.gatherDelayMsMax * 2);
    }
    assert.equal(pool.queued(), limits.gatherQueuedTasks);
    delayMs = 0;
    for (const { accepted } of await Promise.all(all)) assert.equal(accepted, 1);
    await pool.close();
  });
});

describe('large bodies that wait for the log', () => {
  const acme = request('').organization;
  const body = (marker: string, bytes: number, organization = acme): IngestRequest => {
    const event = (n: number): string =>
      JSON.stringify({ time: 0, message: { action: 1001, extra: { marker, n, x: 'x'.repeat(100_000) } } });
    const lines = Array.from({ length: Math.ceil(bytes / 100_000) }, (_, n) => event(n));
    const text = new Uint8Array(Buffer.from(lines.join('\n')));
    return { ...request(marker), body: text, form: 'ndjson', organization };
  };

  it('keep their place until they are stored where much of them is kept, and only then', async () => {
    const pool = new WorkerPool({ threads: 1, worker, log: silentLog, filename: builtWorker });
    const places = pool.threads + limits.largeBodiesBeyondThreads;
    const large = new LargeBodies({
      pool,
      directory: () => ({ version: 1, json: Buffer.from('[]') }),
      bodyBytesMax: 1e7,
    });
    const events = new EventEmitter();
    const storing: string[] = [];
    const store = (name: string) => async (): Promise<void> => {
      storing.push(name);
      events.emit(`storing ${name}`);
      await once(events, 'stored');
    };
    const begun = (name: string): Promise<unknown> => once(events, `storing ${name}`);
    const all: Promise<void>[] = [];
    const send = async (name: string, request: IngestRequest, expected = true): Promise<void> => {
      const waited = expected ? begun(name) : undefined;
      all.push(large.serve(request, store(name)));
      await waited;
    };
    const heavy = limits.keptBytesMin;
    // More than there are slots, with little memory each.
    const light = Array.from({ length: places + 1 }, (_, n) => `light ${n}`);
    for (const name of light) await send(name, body(name, 100_000));
    for (let n = 0; n < places; n += 1) await send(`heavy ${n}`, body('heavy', heavy));
    await send('late', body('late', heavy), false);
    const other = { id: '0b7f2a50-0000-4000-8000-000000000002', slug: 'other', retentionDays: undefined };
    await send('other', body('other', heavy, other));
    assert.ok(!storing.includes('late'));
    const late = begun('late');
    events.emit('stored');
    await late;
    events.emit('stored');
    await Promise.all(all);
    await pool.close();
  });
});

describe('the wait of events that the engine has not stored', () => {
  it('leaves out a segment that an attempt has failed for', async () => {
    const wal = await Wal.open({
      files: disk(),
      log: silentLog,
      segmentBytes: 1e6,
      bytesMax: 1e9,
      nowMs: Date.now,
      damage: new DamageRegister(),
    });
    const payload = new Uint8Array(10);
    await wal.append([{ rows: 1, payload, payloadCrc: crc32c(payload), notes: '' }]);
    await wal.seal();
    await sleep(5);
    const batcher = new Batcher({
      wal,
      order: { numbersOf: () => [], take: () => Promise.resolve(1), settle: () => undefined },
      sink: () => Promise.reject(new Error('never')),
      log: silentLog,
      damage: new DamageRegister(),
      flushIntervalMs: 1000,
      stored: () => undefined,
      keepNotes: async () => undefined,
    });
    batcher.start();
    assert.ok(batcher.backlog('all').waitingMs >= 5);
    while (batcher.counts().retries === 0) await sleep(5);
    assert.equal(batcher.backlog('all').waitingMs, 0);
    assert.ok(wal.waitingMs() >= 5);
    batcher.stop();
    await wal.close();
  });
});

describe('workers that fail', () => {
  let pool: WorkerPool;
  let accept: Accept;
  let wal: Wal;
  before(async () => {
    const filename = new URL('./failing-worker.ts', import.meta.url).href;
    pool = new WorkerPool({
      threads: 1,
      worker,
      log: silentLog,
      filename,
      // One test waits for all of it; a restarted thread must have enough time.
      taskMsMax: patience(2000),
    });
    ({ accept, wal } = await acceptOn(pool));
  });
  after(() => pool.close());

  for (const poison of ['crash the thread', 'never come back', 'exhaust the memory']) {
    it(`cost the request that makes them ${poison}, not the ones gathered with it nor later ones`, async () => {
      const outcomes = await Promise.allSettled(
        ['a', 'b', poison, 'c'].map((marker) => accept(request(marker))),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
      );
      assert.equal((outcomes[2] as PromiseRejectedResult).reason.code, 'internal');
      assert.equal((await accept(request('later'))).accepted, 1);
    });
  }

  it('leave every acknowledged event in the log once', async () => {
    await wal.seal();
    const contents = await Promise.all(wal.sealed().map((segment) => wal.read(segment)));
    const text = contents
      .flatMap(({ frames }) => frames.map(({ payload }) => Buffer.from(payload).toString('latin1')))
      .join('');
    const markers = [...text.matchAll(/"extra":\{"marker":"([^"]+)"/g)].map((match) => match[1]);
    const expected = ['a', 'b', 'c', 'later'].flatMap((marker) => [marker, marker, marker]);
    assert.deepEqual(
      markers.toSorted((a, b) => String(a).localeCompare(String(b))),
      expected,
    );
  });
});
