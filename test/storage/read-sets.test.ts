import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { readSets } from '../../src/storage/replica-reads.ts';

const shard = (weight: number, ...nodes: readonly (readonly [node: number, rank: number])[]) => ({
  weight,
  nodes: nodes.map(([node, rank]) => ({ node, rank })),
});

test('one replica of one or two has all, two of three or four, three of five', () => {
  const setsOf = (replicas: number) =>
    readSets([shard(1, ...Array.from({ length: replicas }, (_, node) => [node, 0] as const))]);
  assert.deepEqual([1, 2, 3, 4, 5].map(setsOf), [undefined, undefined, [[0, 1]], [[0, 1]], [[0, 1, 2]]]);
});

test('nodes that answered are preferred to others', () => {
  assert.deepEqual(readSets([shard(1, [0, 2], [1, 0], [2, 3])]), [[2, 0]]);
  assert.deepEqual(readSets([shard(1, [0, 0], [1, 0], [2, 3])]), [[2, 0]]);
});

test('beside a shard with one replica all are read, as an INSERT has waited for one', () => {
  assert.deepEqual(readSets([shard(1, [0, 2]), shard(1, [1, 0], [2, 2])]), [[0], [2, 1]]);
});

test('a shard has as many values of the sharding key as its weight', () => {
  const sets = readSets([shard(2, [0, 2], [1, 2], [2, 2]), shard(1, [3, 2], [4, 2])]);
  assert.deepEqual(sets, [[0, 1], [0, 1], [3]]);
});
