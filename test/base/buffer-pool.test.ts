import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../src/base/bytes/buffer-pool.ts';

const kibibyte = 1024;
const largestBytes = 16 * 1024 * kibibyte;
const poolOf = (bytesMax: number, keptMs = 60_000): BufferPool<ArrayBuffer> =>
  new BufferPool({ bytesMax, largestBytes, keptMs, allocate: (bytes) => new ArrayBuffer(bytes) });
type Pool = ReturnType<typeof poolOf>;

/** Takes a buffer and gives it back at once; returns which one it was. */
function used(pool: Pool, bytes: number): ArrayBuffer {
  const lease = pool.take(bytes);
  const { memory } = lease;
  lease.release();
  return memory;
}

const taken = (pool: Pool, bytes: number): ArrayBuffer => pool.take(bytes).memory;

test('a buffer that was given back is used again for what fits in it', () => {
  const pool = poolOf(1024 * kibibyte);
  const first = used(pool, 100 * kibibyte);
  assert.equal(first.byteLength, 128 * kibibyte);
  assert.notEqual(taken(pool, 200 * kibibyte), first);
  assert.equal(taken(pool, 65 * kibibyte), first);
  assert.notEqual(taken(pool, 65 * kibibyte), first);
});

test('a larger buffer serves where none of the size is left, up to four times the size', () => {
  const pool = poolOf(4096 * kibibyte);
  const large = used(pool, 512 * kibibyte);
  assert.notEqual(taken(pool, 64 * kibibyte), large);
  assert.equal(taken(pool, 128 * kibibyte), large);
});

test('keeps no more than its bound, and nothing of a size that it does not hand out', () => {
  const pool = poolOf(128 * kibibyte);
  const leases = [pool.take(128 * kibibyte), pool.take(128 * kibibyte)];
  const [one, two] = leases.map(({ memory }) => memory);
  for (const lease of leases) lease.release();
  assert.equal(taken(pool, 128 * kibibyte), one);
  assert.notEqual(taken(pool, 128 * kibibyte), two);
  const odd = new ArrayBuffer(100 * kibibyte);
  pool.give(odd);
  assert.notEqual(taken(pool, 100 * kibibyte), odd);
});

test('very large buffers are not pooled', () => {
  const pool = poolOf(1024 * 1024 * kibibyte);
  const large = used(pool, 20_000 * kibibyte);
  assert.equal(large.byteLength, 20_000 * kibibyte);
  assert.notEqual(taken(pool, 20_000 * kibibyte), large);
});

test('unused buffers are kept for a while, then freed; used ones stay', async () => {
  const pool = poolOf(4096 * kibibyte, 5);
  const leases = [pool.take(512 * kibibyte), pool.take(128 * kibibyte)];
  const [idle, busy] = leases.map(({ memory }) => memory);
  for (const lease of leases) lease.release();
  assert.equal(pool.unusedBytes(), 640 * kibibyte);
  do {
    assert.equal(used(pool, 128 * kibibyte), busy);
    await new Promise((resolve) => setImmediate(resolve));
  } while (pool.unusedBytes() > 128 * kibibyte);
  assert.notEqual(taken(pool, 512 * kibibyte), idle);
});

test('a lease that is released twice takes nothing from the next owner', () => {
  const pool = poolOf(1024 * kibibyte);
  const first = pool.take(64 * kibibyte);
  const { memory } = first;
  first.release();
  first.release();
  const second = pool.take(64 * kibibyte);
  assert.equal(second.memory, memory);
  first.release();
  assert.notEqual(taken(pool, 64 * kibibyte), memory);
  assert.throws(() => first.memory, /is used after its release/);
  assert.throws(() => first.handOver(), /is used after its release/);
});

test('a buffer that the pool or a lease has cannot be given', () => {
  const pool = poolOf(1024 * kibibyte);
  const lease = pool.take(64 * kibibyte);
  const { memory } = lease;
  assert.throws(() => pool.give(memory), /was not leased by the pool/);
  lease.release();
  assert.throws(() => pool.give(memory), /was not leased by the pool/);
  assert.throws(() => pool.adopt(memory), /was not leased by the pool/);
  const back = pool.take(64 * kibibyte).handOver();
  pool.give(back);
  assert.throws(() => pool.give(back), /was not leased by the pool/);
});

test('an unused buffer that a former owner transfers is not handed out', () => {
  const pool = poolOf(1024 * kibibyte);
  structuredClone(0, { transfer: [used(pool, 64 * kibibyte)] });
  assert.throws(() => pool.take(64 * kibibyte), /transferred by a former owner/);
  assert.equal(taken(pool, 64 * kibibyte).byteLength, 64 * kibibyte);
});
