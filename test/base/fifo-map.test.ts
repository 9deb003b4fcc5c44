import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FifoMap } from '../../src/base/waiting/fifo-map.ts';

/** The oldest entry becomes the newest, with the same value. */
const renewed: { kind: 'set' | 'delete' | 'remove' | 'oldest'; key: number }[] = [
  { kind: 'set', key: 0 },
  { kind: 'oldest', key: 0 },
  { kind: 'oldest', key: 0 },
  { kind: 'set', key: 1 },
  { kind: 'set', key: 0 },
  { kind: 'oldest', key: 0 },
];

describe('a map that gives up its oldest entry', () => {
  it('agrees with a list', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constantFrom('set' as const, 'delete' as const),
        key: fc.integer({ min: 0, max: 12 }),
      }),
      fc.record({ kind: fc.constantFrom('remove' as const, 'oldest' as const), key: fc.constant<number>(0) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const map = new FifoMap<number>();
        let model: { key: string; value: number }[] = [];
        for (const [n, { kind, key }] of steps.entries()) {
          if (kind === 'set') {
            // An equal value must not hide that its key is the newest now.
            const value = n % 2;
            map.set(String(key), value);
            model = [...model.filter((entry) => entry.key !== String(key)), { key: String(key), value }];
          } else if (kind === 'delete') {
            map.delete(String(key));
            model = model.filter((entry) => entry.key !== String(key));
          } else if (kind === 'remove') {
            assert.equal(map.removeOldest(), model.shift()?.value);
          } else {
            assert.equal(map.oldest(), model[0]?.value);
          }
          assert.equal(map.size, model.length);
          for (const { key: held, value } of model) assert.equal(map.get(held), value);
        }
      }),
      { examples: [[renewed]] },
    );
  });

  it('takes as long for a large map as for a small one', () => {
    const map = new FifoMap<number>();
    for (let i = 0; i < 200_000; i++) map.set(`k${i}`, i);
    const before = process.cpuUsage();
    for (let i = 0; i < 200_000; i++) {
      map.removeOldest();
      map.set(`n${i}`, i);
    }
    // A walk over deleted places would take minutes, on any machine.
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 20_000_000, `${user + system} µs of processor time`);
  });
});
