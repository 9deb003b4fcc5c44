import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { FairQueue } from '../../src/base/waiting/fair-queue.ts';
import { inTurn } from '../../src/read/fair-queue.ts';

const never = new AbortController().signal;

describe('a reader that takes turns', () => {
  test('holds its turn until its call, or the stream that it answers, has ended', async () => {
    const queue = new FairQueue({
      slotsPerOrganization: 2,
      slots: 3,
      waitingPerOrganization: 4,
      waiting: 6,
      waitMs: 1_000,
      refusal: 'too many',
      retryAfterSeconds: 7,
    });
    let close = (): void => assert.fail('nobody listens');
    const stream = {
      onClosed: (callback: () => void) => {
        close = callback;
      },
    };
    const plain = inTurn(
      queue,
      async (organization: string, n: number, _signal: AbortSignal) => organization + n,
    );
    assert.equal(await plain('a', 5, never), 'a5');
    assert.equal(queue.size().running, 0);
    const failing = inTurn(queue, async (_organization: string, _signal: AbortSignal) => {
      throw new Error('no');
    });
    await assert.rejects(failing('a', never), /no/);
    assert.equal(queue.size().running, 0);
    const streaming = inTurn(
      queue,
      async (_organization: string, _signal: AbortSignal) => ({ stream }),
      (result) => result.stream,
    );
    await streaming('a', never);
    assert.equal(queue.size().running, 1);
    close();
    assert.equal(queue.size().running, 0);
  });
});
