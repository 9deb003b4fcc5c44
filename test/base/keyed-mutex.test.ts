import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { KeyedMutex } from '../../src/base/waiting/keyed-mutex.ts';

describe('a keyed mutex', () => {
  test('serializes work of one key, after failures too, and runs other keys concurrently', async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    const work = (name: string) => async (): Promise<string> => {
      log.push(`${name} begins`);
      await settled();
      log.push(`${name} ends`);
      if (name === 'a1') throw new Error('failed');
      return name;
    };
    const results = await Promise.allSettled([
      mutex.run('a', work('a1')),
      mutex.run('a', work('a2')),
      mutex.run('b', work('b1')),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled', 'fulfilled'],
    );
    assert.ok(log.indexOf('a1 ends') < log.indexOf('a2 begins'));
    assert.ok(log.indexOf('b1 begins') < log.indexOf('a1 ends'));
  });

  test('refuses work of a key that too many wait for', async () => {
    const mutex = new KeyedMutex(2, () => new Error('too many'));
    const results = await Promise.allSettled([1, 2, 3].map((n) => mutex.run('a', async () => n)));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    );
    assert.equal(await mutex.run('a', async () => 'again'), 'again');
  });
});
