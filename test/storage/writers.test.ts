import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { takeWriter } from '../../src/storage/writers.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

describe('writer numbers', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });
  const numberOf = async (instance: string, writersMax = 63): Promise<number> =>
    (await takeWriter(engine.storage, instance, writersMax)).id;

  test('differ between processes that ask at the same moment, and stay with a process', async () => {
    const instances = Array.from({ length: 5 }, () => randomUUID());
    const taken = await Promise.all(instances.map((instance) => numberOf(instance)));
    assert.equal(new Set(taken).size, instances.length, `taken: ${taken.join(', ')}`);
    assert.deepEqual(await Promise.all(instances.map((instance) => numberOf(instance))), taken);
  });

  test('are given to another once their process has been away for a week', async () => {
    const [gone, next] = [randomUUID(), randomUUID()];
    const { id, lease } = await takeWriter(engine.storage, gone, 63);
    assert.notEqual(await numberOf(randomUUID()), id, 'a new one is enough');
    await engine.storage.command(
      `INSERT INTO leases SELECT * REPLACE (now64(3) - INTERVAL 8 DAY AS seen, version + 1 AS version)
       FROM leases FINAL WHERE owner = {gone:UUID} AND held`,
      { gone },
    );
    assert.equal(await numberOf(next), id);
    assert.equal(await lease.holds(), false, 'what has the number no more must not write under it');
  });

  test('run out with a clear error', async () => {
    await assert.rejects(
      (async () => {
        for (;;) await numberOf(randomUUID(), 8);
      })(),
      /All 8 writer numbers of this engine are in use/,
    );
  });
});
