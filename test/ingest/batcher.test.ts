import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { Batcher } from '../../src/ingest/batcher.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { createTornFiles } from '../support/torn-files.ts';
import { frameOf } from './log-support.ts';

const log = createLogger('silent');

/** A log and its batcher, with an engine whose INSERTs end when the test says so. */
async function setUp() {
  const { files } = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
  const damage = new DamageRegister();
  const sizes = { segmentBytes: 1e6, bytesMax: 1e9, largeBytes: 2000 };
  const wal = await Wal.open({ files, log, ...sizes, nowMs: Date.now, damage });
  /** Running INSERTs by segment, and the function that ends each. */
  const inserts = new Map<number, () => void>();
  const batcher = new Batcher({
    wal,
    order: { numbersOf: () => [], take: () => Promise.resolve(1), settle: () => undefined },
    sink: ({ segment }) =>
      new Promise((resolve) => {
        inserts.set(segment, () => {
          inserts.delete(segment);
          resolve('stored');
        });
      }),
    log,
    damage,
    flushIntervalMs: 5,
    stored: () => undefined,
    keepNotes: async () => undefined,
  });
  batcher.start();
  let id = 0;
  return {
    wal,
    batcher,
    inserts,
    append: (fillerBytes: number) => wal.append([frameOf([++id], fillerBytes)]),
    async until(condition: () => boolean) {
      while (!condition()) await sleep(2);
    },
    async close() {
      batcher.stop();
      for (const end of inserts.values()) end();
      await wal.close();
    },
  };
}

describe('the INSERTs of large requests', () => {
  it('are no backlog for small bodies', async () => {
    const { wal, batcher, inserts, append, until, close } = await setUp();
    const number = await append(3000);
    await until(() => inserts.has(number));
    await until(() => batcher.backlog('all').waitingMs >= 5);
    assert.equal(batcher.backlog('small').waitingMs, 0);
    assert.ok(batcher.backlog('all').bytes - batcher.backlog('small').bytes > 3000);
    const small = await append(10);
    await until(() => inserts.has(small));
    await until(() => batcher.backlog('small').waitingMs >= 5);
    assert.equal(batcher.backlog('all').bytes, wal.bytes());
    await close();
  });
});
