import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../src/base/buffer-pool.ts';

const kibibyte = 1024;
const largestBytes = 16 * 1024 * kibibyte;
const poolOf = (bytesMax: number, keptMs = 60_000): BufferPool<ArrayBuffer> =>
  new BufferPool({ bytesMax, largestBytes, keptMs, allocate: (bytes) => new ArrayBuffer(bytes) });

test('a buffer that was given back is used again for what fits in it', () => {
  const pool = poolOf(1024 * kibibyte);
  const first = pool.take(100 * kibibyte);
  assert.equal(first.byteLength, 128 * kibibyte);
  pool.give(first);
  assert.notEqual(pool.take(200 * kibibyte), first);
  assert.equal(pool.take(65 * kibibyte), first);
  assert.notEqual(pool.take(65 * kibibyte), first);
});

test('a larger buffer serves where none of the size is left, up to four times the size', () => {
  const pool = poolOf(4096 * kibibyte);
  const large = pool.take(512 * kibibyte);
  pool.give(large);
  assert.notEqual(pool.take(64 * kibibyte), large);
  assert.equal(pool.take(128 * kibibyte), large);
});

test('keeps no more than its bound, and nothing of a size that it does not hand out', () => {
  const pool = poolOf(128 * kibibyte);
  const [one, two] = [pool.take(128 * kibibyte), pool.take(128 * kibibyte)];
  pool.give(one);
  pool.give(two);
  assert.equal(pool.take(128 * kibibyte), one);
  assert.notEqual(pool.take(128 * kibibyte), two);
  const odd = new ArrayBuffer(100 * kibibyte);
  pool.give(odd);
  assert.notEqual(pool.take(100 * kibibyte), odd);
});

test('very large buffers are not pooled', () => {
  const pool = poolOf(1024 * 1024 * kibibyte);
  const large = pool.take(20_000 * kibibyte);
  assert.equal(large.byteLength, 20_000 * kibibyte);
  pool.give(large);
  assert.notEqual(pool.take(20_000 * kibibyte), large);
});

test('what is not needed is kept for a while and then let go, and what is needed stays', async () => {
  const pool = poolOf(4096 * kibibyte, 5);
  const [idle, busy] = [pool.take(512 * kibibyte), pool.take(128 * kibibyte)];
  pool.give(idle);
  pool.give(busy);
  assert.equal(pool.unusedBytes(), 640 * kibibyte);
  do {
    assert.equal(pool.take(128 * kibibyte), busy);
    pool.give(busy);
    await new Promise((resolve) => setImmediate(resolve));
  } while (pool.unusedBytes() > 128 * kibibyte);
  assert.notEqual(pool.take(512 * kibibyte), idle);
});
