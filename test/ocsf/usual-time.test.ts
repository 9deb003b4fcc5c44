import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros, parseEventTimeMicros } from '../../src/base/time/timestamp.ts';
import { usualMicros } from '../../src/ocsf/usual-time.ts';

const notUsual = -1;

/** Between other bytes, as a time stands in an event. */
function usual(text: string): number {
  const bytes = Buffer.from(`"${text}"9Z`);
  return usualMicros(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 1, bytes.length - 3);
}

/** Few days, so that consecutive times often share one. */
const time = fc
  .tuple(fc.constantFrom(0, 59, 11_016, 20_000, 84_005), fc.integer({ min: 0, max: 86_399_999_999 }))
  .map(([day, micros]) => day * 86_400_000_000 + micros);
const usualText = fc
  .tuple(time, fc.integer({ min: 0, max: 6 }))
  .map(([micros, digits]) => `${formatMicros(micros).slice(0, digits === 0 ? 19 : 20 + digits)}Z`);
const character = fc.constantFrom(...'0123456789-:.TtZz +,'.split(''), '');
/** Unusual times, and a character replaced, inserted or removed. */
const edit = fc.oneof(
  fc.constantFrom<[number, number, string]>(
    [11, 2, '24'],
    [14, 2, '60'],
    [17, 2, '60'],
    [5, 5, '02-30'],
    [5, 5, '13-01'],
    [0, 4, '1969'],
    [19, 9, '.1234567Z'],
  ),
  fc.tuple(fc.nat(27), fc.nat(1), character),
);
const nearly = fc
  .tuple(usualText, fc.array(edit, { maxLength: 2 }))
  .map(([text, edits]) =>
    edits.reduce((now, [at, taken, put]) => now.slice(0, at) + put + now.slice(at + taken), text),
  );

test('the quick reader of times agrees with the general one, or leaves it the time', () => {
  let read = 0;
  fc.assert(
    // Consecutively, because the last day is cached.
    fc.property(fc.array(nearly, { minLength: 4 }), (texts) => {
      for (const text of texts) {
        const micros = usual(text);
        if (micros === notUsual) continue;
        assert.equal(micros, parseEventTimeMicros(text), text);
        read++;
      }
    }),
    { numRuns: 2000 },
  );
  assert.ok(read > 5000, `only ${read} of the texts were read`);
});

test('no time from 1970 on in its usual form is left to the parser of all forms', () => {
  fc.assert(
    fc.property(usualText, (text) => assert.equal(usual(text), parseEventTimeMicros(text), text)),
    { numRuns: 3000 },
  );
});
