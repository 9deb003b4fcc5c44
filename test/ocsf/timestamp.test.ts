import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros, parseEventTimeMicros, parseRfc3339Micros } from '../../src/base/time/timestamp.ts';

const accepted: readonly (readonly [string, number])[] = [
  ['1970-01-01T00:00:00Z', 0],
  ['1970-01-01t00:00:00z', 0],
  ['1970-01-01T00:00:00-00:00', 0],
  ['1970-01-01T00:00:00.000001Z', 1],
  ['1970-01-01T00:00:00.0000019Z', 1],
  ['1970-01-01T00:00:00.999999999Z', 999_999],
  ['1969-12-31T23:59:59.9999999Z', -1],
  ['1969-12-31T23:59:59.9Z', -100_000],
  ['1970-01-01T02:00:00+02:00', 0],
  ['1969-12-31T22:30:00-01:30', 0],
  ['2200-01-01T00:00:00Z', 7_258_118_400_000_000],
  ['2000-02-29T12:00:00Z', 951_825_600_000_000],
  ['2024-02-29T23:59:59+23:59', Date.UTC(2024, 1, 29, 0, 0, 59) * 1000],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1) * 1000],
  ['2016-12-31T23:59:60.5Z', Date.UTC(2017, 0, 1) * 1000 + 500_000],
  ['2017-01-01T01:59:60+02:00', Date.UTC(2017, 0, 1) * 1000],
  ['0000-01-01T00:00:00Z', -62_167_219_200_000_000],
  ['9999-12-31T23:59:59Z', 253_402_300_799_000_000],
];

const refused = [
  ';2024-01-01;2024-01-01T00:00:00;2024-01-01T00:00Z;2024-01-01 00:00:00Z;',
  '2024-01-01T00:00:00.Z;2024-01-01T00:00:00.0000000000Z;2024-01-01T00:00:00,5Z;',
  '2024-01-01T00:00:00Zx;2024-01-01T00:00:00Z ; 2024-01-01T00:00:00Z;2024-01-01T00:00:00+0200;',
  '2024-01-01T00:00:00+02;2024-01-01T00:00:00+24:00;2024-01-01T00:00:00+02:60;',
  '2024-01-01T00:00:00 02:00;2024-00-01T00:00:00Z;2024-13-01T00:00:00Z;2024-01-00T00:00:00Z;',
  '2024-01-32T00:00:00Z;2024-04-31T00:00:00Z;2023-02-29T00:00:00Z;1900-02-29T00:00:00Z;',
  '2024-01-01T24:00:00Z;2024-01-01T00:60:00Z;2024-01-01T00:00:60Z;2024-01-01T23:58:60Z;',
  '2024-01-01T23:59:60+01:00;2024-01-01T23:59:61Z;12024-01-01T00:00:00Z;-024-01-01T00:00:00Z;',
  '2024/01/01T00:00:00Z;2024-01-01T00-00-00Z;２024-01-01T00:00:00Z;2024-1-01T00:00:00Z;',
].flatMap((texts) => texts.slice(0, -1).split(';'));

test('timestamps that are RFC 3339 give microseconds', () => {
  for (const [text, micros] of accepted) assert.equal(parseRfc3339Micros(text), micros, text);
  assert.ok(Object.is(parseRfc3339Micros('1970-01-01T00:00:00-00:00'), 0));
});

test('everything else is refused', () => {
  for (const text of refused) assert.equal(parseRfc3339Micros(text), undefined, text);
});

test('events may also have a space for the T and an offset without a colon', () => {
  for (const [text, micros] of [
    ...accepted,
    ['1970-01-01 00:00:00Z', 0],
    ['1970-01-01 02:00:00+0200', 0],
    ['1969-12-31T22:30:00.5-0130', 500_000],
  ] as const) {
    assert.equal(parseEventTimeMicros(text), micros, text);
  }
  const loose = ['2024-01-01 00:00:00Z', '2024-01-01T00:00:00+0200'];
  const others = [
    '2024-01-01  00:00:00Z',
    '2024-01-01T00:00:00+020',
    '2024-01-01T00:00:00 +0200',
    '2024-01-01 ',
  ];
  for (const text of [...refused.filter((one) => !loose.includes(one)), ...others])
    assert.equal(parseEventTimeMicros(text), undefined, text);
});

test('agrees with Date to the millisecond and keeps the microseconds below it', () => {
  const date = fc.date({
    min: new Date('1700-01-01T00:00:00Z'),
    max: new Date('2250-01-01T00:00:00Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(date, fc.nat(999_999), fc.integer({ min: -1439, max: 1439 }), (date, fraction, offset) => {
      const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, 19);
      const digits = String(fraction).padStart(6, '0');
      const minutes = Math.abs(offset);
      const zone = `${offset < 0 ? '-' : '+'}${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
      const expected = Math.floor(date.getTime() / 1000) * 1_000_000 + fraction;
      assert.equal(parseRfc3339Micros(`${local}.${digits}${zone}`), expected);
    }),
    { numRuns: 2000 },
  );
});

test('accepts exactly the calendar dates that Date accepts', () => {
  const two = (value: number) => String(value).padStart(2, '0');
  fc.assert(
    fc.property(fc.nat(9999), fc.nat(13), fc.nat(32), (year, month, day) => {
      const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T00:00:00Z`;
      const date = new Date(text);
      const kept = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10));
      assert.equal(parseRfc3339Micros(text), kept ? date.getTime() * 1000 : undefined);
    }),
    { numRuns: 5000 },
  );
});

test('no text throws', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'0123456789-+:.TtZz '.split('')), maxLength: 40 }),
      (text) => {
        const micros = parseRfc3339Micros(text);
        assert.ok(micros === undefined || Number.isInteger(micros));
      },
    ),
    { numRuns: 5000 },
  );
});

test('formats with six digits, and reads its own format', () => {
  assert.equal(formatMicros(0), '1970-01-01T00:00:00.000000Z');
  assert.equal(formatMicros(-1), '1969-12-31T23:59:59.999999Z');
  assert.equal(formatMicros(1_714_558_212_345_678), '2024-05-01T10:10:12.345678Z');
  fc.assert(
    fc.property(fc.integer({ min: -9_000_000_000_000_000, max: 9_000_000_000_000_000 }), (micros) => {
      assert.equal(parseRfc3339Micros(formatMicros(micros)), micros);
    }),
    { numRuns: 2000 },
  );
});
