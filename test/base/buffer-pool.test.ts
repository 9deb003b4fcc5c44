import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../src/base/buffer-pool.ts';

const kibibyte = 1024;

test('a buffer that was given back is used again for what fits in it', () => {
  const pool = new BufferPool(1024 * kibibyte);
  const first = pool.take(100 * kibibyte);
  assert.equal(first.byteLength, 128 * kibibyte);
  pool.give(first);
  assert.notEqual(pool.take(200 * kibibyte), first);
  assert.equal(pool.take(65 * kibibyte), first);
  assert.notEqual(pool.take(65 * kibibyte), first);
});

test('a larger buffer serves where none of the size is left, up to four times the size', () => {
  const pool = new BufferPool(4096 * kibibyte);
  const large = pool.take(512 * kibibyte);
  pool.give(large);
  assert.notEqual(pool.take(64 * kibibyte), large);
  assert.equal(pool.take(128 * kibibyte), large);
});

test('keeps no more than its bound, and nothing of a size that it does not hand out', () => {
  const pool = new BufferPool(128 * kibibyte);
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
  const pool = new BufferPool(1024 * 1024 * kibibyte);
  const large = pool.take(20_000 * kibibyte);
  assert.equal(large.byteLength, 20_000 * kibibyte);
  pool.give(large);
  assert.notEqual(pool.take(20_000 * kibibyte), large);
});
