import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { batchesOf, deathsOf, killSeed } from '../support/kill-schedule.ts';

const many = 300;

/** Everything that the kill test draws, two clients as they take turns, or one after the other. */
function drawn(seed: number, isInTurn: boolean): object {
  const sources = [deathsOf(seed), batchesOf(seed, 0), batchesOf(seed, 1)];
  const lists: unknown[][] = sources.map(() => []);
  const take = (source: number) => lists[source]?.push(sources[source]?.next().value);
  for (let n = 0; n < many * sources.length; n++) take(isInTurn ? n % sources.length : Math.floor(n / many));
  return lists;
}

test('KILL_SEED gives the same deaths and batches again, however clients and deaths take turns', () => {
  assert.equal(killSeed('42'), 42);
  assert.deepEqual(drawn(42, true), drawn(42, false));
  assert.notDeepEqual(drawn(42, true), drawn(43, true));
  assert.notEqual(killSeed(undefined), killSeed(undefined));
});

test('of any seed all three die, at any time between the first and the last moment', () => {
  for (const seed of [0, 1, 42, killSeed(undefined)]) {
    const source = deathsOf(seed);
    const deaths = Array.from({ length: many }, () => source.next().value);
    for (const kind of ['engine', 'server', 'both'])
      assert.ok(deaths.filter((death) => death.of === kind).length > many / 10, `${seed}: ${kind}`);
    const times = deaths.map(({ afterMs }) => afterMs);
    assert.ok(Math.min(...times) >= 100 && Math.min(...times) < 200, `${seed}`);
    assert.ok(Math.max(...times) < 800 && Math.max(...times) > 700, `${seed}`);
  }
});
