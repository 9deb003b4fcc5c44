import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { Semaphore } from '../../src/base/semaphore.ts';

const refused = () => new Error('too many');

describe('a semaphore', () => {
  test('lets as many in as it has slots, the others in the order of arrival, and refuses the rest', async () => {
    const semaphore = new Semaphore({ slots: 2, waitingMax: 2, refused });
    const releases: (() => void)[] = [];
    const order: number[] = [];
    const ask = async (n: number): Promise<void> => {
      releases.push(await semaphore.acquire());
      order.push(n);
    };
    const asked = [ask(0), ask(1), ask(2), ask(3)];
    await assert.rejects(ask(4), /too many/);
    assert.deepEqual(order, [0, 1]);
    releases[1]?.();
    releases[1]?.();
    await settled();
    assert.deepEqual(order, [0, 1, 2]);
    releases[0]?.();
    await Promise.all(asked);
    assert.deepEqual(order, [0, 1, 2, 3]);
    for (const release of releases) release();
    assert.equal(await semaphore.run(async () => 'free again'), 'free again');
  });

  test('gives a slot back however the work ends', async () => {
    const semaphore = new Semaphore({ slots: 1, waitingMax: 0, refused });
    await assert.rejects(
      semaphore.run(async () => {
        throw new Error('failed');
      }),
      /failed/,
    );
    assert.equal(await semaphore.run(async () => 1), 1);
  });

  test('a caller that goes away, or waits for too long, loses its place and no slot', async () => {
    const semaphore = new Semaphore({
      slots: 1,
      waitingMax: 9,
      waitMs: 20,
      refused,
      aborted: () => new Error('gone'),
    });
    const release = await semaphore.acquire();
    const caller = new AbortController();
    const aborted = semaphore.acquire(caller.signal);
    caller.abort();
    await assert.rejects(aborted, /gone/);
    await assert.rejects(semaphore.acquire(caller.signal), /gone/);
    await assert.rejects(semaphore.acquire(), /too many/);
    release();
    assert.equal(await semaphore.run(async () => 1), 1);
  });
});
