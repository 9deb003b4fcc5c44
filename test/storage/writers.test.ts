import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { claimWriter, renewWriter } from '../../src/storage/writers.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

describe('writer numbers', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });

  test('differ between processes that claim at the same moment, and stay with a process', async () => {
    const instances = Array.from({ length: 5 }, () => randomUUID());
    const claimed = await Promise.all(instances.map((instance) => claimWriter(engine.storage, instance, 63)));
    assert.equal(new Set(claimed).size, instances.length, `claimed ${claimed.join(', ')}`);
    const again = await Promise.all(instances.map((instance) => claimWriter(engine.storage, instance, 63)));
    assert.deepEqual(again, claimed);
  });

  test('are given to another once their process has been away for a week', async () => {
    const [gone, next] = [randomUUID(), randomUUID()];
    const number = await claimWriter(engine.storage, gone, 63);
    await engine.storage.command('DELETE FROM writers WHERE instance = {gone:UUID}', { gone });
    await engine.storage.insertRows('writers', [{ id: number, instance: gone, seen: daysAgo(6) }]);
    assert.notEqual(await claimWriter(engine.storage, randomUUID(), 63), number, 'six days are not enough');
    await engine.storage.command('DELETE FROM writers WHERE instance = {gone:UUID}', { gone });
    await engine.storage.insertRows('writers', [{ id: number, instance: gone, seen: daysAgo(8) }]);
    assert.equal(await claimWriter(engine.storage, next, 63), number);
  });

  test('run out with a clear error', async () => {
    const taken = await engine.storage.rows<{ id: number }>('SELECT DISTINCT id FROM writers');
    const free = [0, 1, 2].filter((id) => !taken.some((row) => row.id === id));
    for (const id of free) await renewWriter(engine.storage, randomUUID(), id);
    await assert.rejects(claimWriter(engine.storage, randomUUID(), 3), /all 3 writer numbers are in use/);
  });
});

/** A moment so many days ago, as the engine reads it. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().replace('T', ' ').replace('Z', '');
}
