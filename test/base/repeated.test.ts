import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Repeated } from '../../src/base/waiting/repeated.ts';
import { eventually } from '../support/http.ts';

test('a turn that takes long is followed by one, not by all that were due', async () => {
  let slow = 0;
  let quick = 0;
  let end = (): void => undefined;
  const failed = (error: unknown): void => assert.fail(String(error));
  const hanging = new Repeated(
    1,
    () => {
      slow += 1;
      return new Promise((resolve) => {
        end = resolve;
      });
    },
    failed,
  );
  const others = new Repeated(1, async () => void (quick += 1), failed);
  await eventually('many turns to be due', async () => (quick >= 20 ? true : undefined));
  assert.equal(slow, 1);
  end();
  await eventually('the next turn', async () => (slow === 2 ? true : undefined));
  await others.stop();
  const stopped = hanging.stop();
  end();
  await stopped;
  assert.equal(slow, 2);
});

test('a failure is logged and the next turn follows; one caused by the stop is not logged', async () => {
  const told: unknown[] = [];
  let turns = 0;
  const failing = new Repeated(
    1,
    async (signal) => {
      turns += 1;
      if (turns < 3) throw new Error(`no ${turns}`);
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    (error) => told.push(String(error)),
  );
  await eventually('the third turn', async () => (turns === 3 ? true : undefined));
  await failing.stop();
  assert.deepEqual(told, ['Error: no 1', 'Error: no 2']);
});
