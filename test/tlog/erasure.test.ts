import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodeEntry, entryAt } from '../../src/tlog/entry.ts';
import {
  encodeErased,
  type Erasure,
  ErasureDigest,
  ErasureHistory,
  erasureIn,
} from '../../src/tlog/erasure.ts';
import { EventAudit } from '../../src/tlog/event-audit.ts';

const hashOf = (n: number): Buffer => Buffer.alloc(32, n);
const entryOf = (seq: bigint, eventHash: Buffer) =>
  entryAt(encodeEntry({ seq, time: 1, expires: 65_535, own: false, eventHash }), 0);

/** Successive erasures of some events; each replaces the previous version. */
const chains = fc.array(fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 20 }), { maxLength: 4 });

/** The events of a table, `version` by position, and their erasures; the last may be in progress. */
function made(steps: readonly (readonly number[])[], isPending = false) {
  const versions = Array<number>(31).fill(0);
  const erasures = steps.map((places, n): Erasure => {
    const list = places
      .toSorted((a, b) => a - b)
      .map((place) => {
        const before = hashOf(versions[place] ?? 0);
        versions[place] = n + 1;
        return encodeErased(BigInt(place), before, hashOf(n + 1));
      });
    return {
      pseudonym: `p${n}`,
      seq: BigInt(100 + n),
      position: n,
      list: Buffer.concat(list),
      isPending: isPending && n === steps.length - 1,
    };
  });
  return { versions, history: new ErasureHistory(erasures.toReversed()) };
}

test('only the result of the last erasure of an event is accepted', () => {
  fc.assert(
    fc.property(chains, fc.nat({ max: 30 }), fc.nat({ max: 5 }), (steps, place, version) => {
      const { versions, history } = made(steps);
      const entry = entryOf(BigInt(place), hashOf(0));
      assert.equal(history.allows(entry, hashOf(version)), version === versions[place]);
      assert.equal(history.touches(BigInt(place), BigInt(place)), versions[place] !== 0);
    }),
  );
});

test('while one is under way an event may be as it was before that, too', () => {
  const { history } = made([[1, 2], [2]], true);
  const allowed = (place: bigint) =>
    [0, 1, 2, 3].filter((version) => history.allows(entryOf(place, hashOf(0)), hashOf(version)));
  assert.deepEqual([allowed(1n), allowed(2n), allowed(3n)], [[1], [1, 2], [0]]);
});

test('an audit counts erased events, and reports other changes and restored events', () => {
  const { history } = made([[1, 2, 3]]);
  const row = (seq: number, hash: Buffer) =>
    encodeEntry({ seq: BigInt(seq), time: 1, expires: 65_535, own: false, eventHash: hash });
  const tree = Buffer.concat([0, 1, 2, 3].map((seq) => row(seq, hashOf(0))));
  const audited = (hashes: readonly Buffer[]) => {
    const audit = new EventAudit(() => false, history);
    audit.compare(tree, Buffer.concat(hashes.map((hash, seq) => row(seq, hash))));
    const { same, erased, counts } = audit.findings();
    return [same, erased, counts.altered + counts.moved];
  };
  assert.deepEqual(audited([hashOf(0), hashOf(1), hashOf(1), hashOf(1)]), [1, 3, 0]);
  assert.deepEqual(audited([hashOf(0), hashOf(1), hashOf(9), hashOf(1)]), [1, 2, 1]);
  assert.deepEqual(audited([hashOf(0), hashOf(0), hashOf(0), hashOf(0)]), [1, 0, 3]);
  assert.deepEqual(audited([hashOf(1), hashOf(1), hashOf(1), hashOf(1)]), [0, 3, 1]);
  // No erasure changes the time.
  const audit = new EventAudit(() => false, history);
  const moved = encodeEntry({ seq: 1n, time: 2, expires: 65_535, own: false, eventHash: hashOf(1) });
  audit.compare(row(1, hashOf(0)), moved);
  assert.deepEqual([audit.findings().erased, audit.findings().counts.altered], [0, 1]);
});

test('the hash of a list covers all its events, and an event has it', () => {
  const list = [1n, 2n, 3n].map((seq) => encodeErased(seq, randomBytes(32), randomBytes(32)));
  const hexOf = (pieces: readonly Buffer[]) => {
    const digest = new ErasureDigest();
    for (const piece of pieces) digest.add(piece);
    return digest.hex();
  };
  assert.equal(hexOf(list), hexOf([Buffer.concat(list)]));
  assert.notEqual(hexOf(list), hexOf(list.slice(1)));
  const erasure = { id: 'i', pseudonym: 'p', digest: 'd', events: 3 };
  const source = (action: unknown, extra: object) => JSON.stringify({ message: { action, extra } });
  const said = { id: 'i', pseudonym: 'p', digest: 'd' };
  assert.deepEqual(erasureIn(source(5016, { erasure })), said);
  assert.deepEqual(erasureIn(source({ code: 5016 }, { erasure })), said);
  for (const other of [source(5015, { erasure }), source(5016, {}), '[', 'null'])
    assert.equal(erasureIn(other), undefined);
});
