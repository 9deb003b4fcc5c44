import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { BodyBudget, BodyReceiver } from '../../src/http/body.ts';
import { limits } from '../../src/http/limits.ts';

const chunks = fc.array(fc.uint8Array({ maxLength: 5000 }), { minLength: 1, maxLength: 20 });

test('any chunks, announced or not, give the same bytes, and the budget back', async () => {
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), fc.boolean(), async (parts, announced, readFirst) => {
      const whole = Buffer.concat(parts);
      const budget = new BodyBudget(1_000_000);
      const body = new BodyReceiver({
        announcement: announced ? { kind: 'sized', bytes: whole.length } : { kind: 'chunked', isPlain: true },
        maxBytes: 200_000,
        budget,
        onExcess: () => assert.fail('nothing is thrown away here'),
        onLast: () => {},
        pause: () => {},
        resume: () => {},
      });
      const early = readFirst ? body.read() : undefined;
      for (const [i, part] of parts.entries()) {
        const copy = part.slice().buffer;
        body.data(copy, i === parts.length - 1);
        // The library reuses the memory of a chunk after the callback.
        new Uint8Array(copy).fill(0xee);
      }
      const { bytes, release } = await (early ?? body.read());
      assert.deepEqual(Buffer.from(bytes), whole);
      assert.equal(budget.used(), whole.length);
      release();
      release();
      assert.equal(budget.used(), 0);
      assert.equal(body.received(), whole.length);
    }),
    { numRuns: 60 },
  );
});

test('a body is read once, and one that is not kept cannot be read', async () => {
  const budget = new BodyBudget(100);
  const make = (maxBytes: number) =>
    new BodyReceiver({
      announcement: { kind: 'sized', bytes: 2 },
      maxBytes,
      budget,
      onExcess: () => {},
      onLast: () => {},
      pause: () => {},
      resume: () => {},
    });
  const body = make(10);
  body.data(new ArrayBuffer(2), true);
  assert.equal((await body.read()).bytes.length, 2);
  await assert.rejects(body.read(), /already read/);
  await assert.rejects(make(0).read(), /was discarded/);
});

test('thrown-away bytes are bounded', () => {
  let excess = 0;
  const body = new BodyReceiver({
    announcement: { kind: 'chunked', isPlain: true },
    maxBytes: 0,
    budget: new BodyBudget(0),
    onExcess: () => excess++,
    onLast: () => {},
    pause: () => {},
    resume: () => {},
  });
  body.data(new ArrayBuffer(64 * 1024), false);
  assert.equal(excess, 0);
  body.data(new ArrayBuffer(1), false);
  assert.equal(excess, 1);
});

test('large bodies leave room for small ones', async () => {
  const budget = new BodyBudget(1_000_000);
  const receive = (bytes: number) => {
    const body = new BodyReceiver({
      announcement: { kind: 'sized', bytes },
      maxBytes: 2_000_000,
      budget,
      onExcess: () => {},
      onLast: () => {},
      pause: () => {},
      resume: () => {},
    });
    const read = body.read();
    body.data(new ArrayBuffer(bytes), true);
    return read;
  };
  await receive(800_000);
  await assert.rejects(receive(100_000), { code: 'unavailable' });
  for (let n = 0; n < 4; n++) await receive(50_000);
  await assert.rejects(receive(1), { code: 'unavailable' });
});

test('an unread body soon pauses, and continues once it is read', async () => {
  const flow: string[] = [];
  const budget = new BodyBudget(1_000_000);
  const body = new BodyReceiver({
    announcement: { kind: 'sized', bytes: 200_000 },
    maxBytes: 500_000,
    budget,
    onExcess: () => assert.fail('nothing is thrown away here'),
    onLast: () => {},
    pause: () => flow.push('pause'),
    resume: () => flow.push('resume'),
  });
  body.data(new ArrayBuffer(60_000), false);
  assert.deepEqual(flow, []);
  body.data(new ArrayBuffer(60_000), false);
  assert.deepEqual(flow, ['pause']);
  const reading = body.read();
  assert.deepEqual(flow, ['pause', 'resume']);
  body.data(new ArrayBuffer(80_000), true);
  assert.equal((await reading).bytes.length, 200_000);
  assert.deepEqual(flow, ['pause', 'resume']);
});

test('a body that stops or is too slow is refused; a paused one is not', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const make = (maxBytes = 10_000_000) =>
      new BodyReceiver({
        announcement: { kind: 'chunked', isPlain: true },
        maxBytes,
        budget: new BodyBudget(100_000_000),
        onExcess: () => {},
        onLast: () => {},
        pause: () => {},
        resume: () => {},
      });
    const enough = (limits.bodyBytesPerSecondMin * limits.bodySlowMsMax) / 1000;
    const tooSlow = { code: 'too_slow', message: /did not arrive within 7 seconds/ };
    const [silent, slow, steady] = [make(), make(), make()];
    await nextTurn();
    const refused = [assert.rejects(silent.read(), tooSlow), assert.rejects(slow.read(), tooSlow)];
    const read = steady.read();
    // Nothing reads it, so it soon stops.
    const unread = make();
    unread.data(new ArrayBuffer(limits.unreadBodyBytesMax + 1), false);
    for (let at = 0; at < limits.bodySlowMsMax; at += 1_000) {
      slow.data(new ArrayBuffer(enough / 7 - 1), false);
      steady.data(new ArrayBuffer(enough / 7 + 1), false);
      mock.timers.tick(1_000);
    }
    await Promise.all(refused);
    mock.timers.tick(limits.bodySlowMsMax - 1_001);
    steady.data(new ArrayBuffer(1), true);
    assert.equal((await read).bytes.length, 7 * (enough / 7 + 1) + 1);
    const late = assert.rejects(unread.read(), tooSlow);
    mock.timers.tick(limits.bodySlowMsMax);
    await late;
  } finally {
    mock.timers.reset();
  }
});
