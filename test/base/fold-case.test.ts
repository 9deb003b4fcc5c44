import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { foldCase, spellingsOf } from '../../src/base/events/fold-case.ts';

test('texts that differ in case alone fold to one text', () => {
  for (const [one, ...others] of [
    ['οδος', 'ΟΔΟΣ', 'οδοσ'],
    ['i\u0307lker', 'İlker', 'İLKER'],
    ['kelvin', 'KELVIN', '\u212aelvin'],
    ['straße', 'STRAẞE'],
    ['mass', 'maſs'],
    ['ångström', '\u212bngström'],
  ])
    for (const other of others) assert.equal(foldCase(other), foldCase(one ?? ''), other);
  assert.notEqual(foldCase('ı'), foldCase('i'), 'a dotless i is a letter of its own');
});

test('folding is idempotent, and each letter is among the spellings of its folded form', () => {
  for (let code = 0; code < 0x1f000; code++) {
    if (code === 0xd800) code = 0xe000;
    const one = String.fromCodePoint(code);
    const folded = foldCase(one);
    assert.equal(foldCase(folded), folded, code.toString(16));
    assert.ok(spellingsOf(folded).includes(one), code.toString(16));
    // Unicode's own view, as regular expressions have it; it leaves the dotted capital I alone.
    if (/\p{L}/u.test(one) && one !== 'İ' && Array.from(folded).length === 1)
      assert.ok(new RegExp(`^${folded}$`, 'iu').test(one), code.toString(16));
  }
});
