import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/ocsf/limits.ts';
import { fromByteText, toByteText } from '../../src/ocsf/byte-text.ts';
import { Cursor } from '../../src/ocsf/json-cursor.ts';
import { describeFault, finish, isAtEnd, skipValue } from '../../src/ocsf/json-text.ts';
import { containerEnds, splitArray } from '../../src/ocsf/json-array.ts';
import { isWellFormed, spelledJson, storableJson } from './arbitrary.ts';
import { rounds } from '../support/rounds.ts';

/** The minified text of a JSON value, or undefined with the reason. */
function scan(text: string, start = 0, end = Buffer.byteLength(text)) {
  const c = new Cursor();
  const at = skipValue(c, c.open(Buffer.from(text), start, end, toByteText(text), start), 0);
  return isAtEnd(c, at)
    ? { text: fromByteText(finish(c)), fault: '' }
    : { text: undefined, fault: describeFault(c, start) };
}

/** The platform's result for a text; undefined if it refuses it, or we must. */
function platform(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text, (name, item: unknown) => {
      if (!isStorable(name) || !isStorable(item)) throw new SyntaxError('not storable');
      return item;
    });
    return value;
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return undefined;
  }
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'string' || (isWellFormed(value) && !value.includes('\0'));
}

test('accepts any JSON in any spelling, and its minified text means the same', () => {
  fc.assert(
    fc.property(spelledJson(storableJson), ({ value, text }) => {
      const { text: minified, fault } = scan(text);
      assert.equal(fault, '');
      assert.ok(minified !== undefined);
      assert.deepEqual(JSON.parse(minified), JSON.parse(JSON.stringify(value)));
      // Only white space between tokens was removed.
      assert.equal(scan(minified).text, minified);
      assert.equal(withoutSpace(text), minified);
    }),
    { numRuns: rounds(450, 1500) },
  );
});

/** The text without white space outside of strings, independent of the scanner. */
function withoutSpace(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

test('agrees with the platform on JSON with a few characters changed', () => {
  const character = fc.constantFrom(
    ...'{}[]",:\\/ \n\t0123456789.eE+-truefalsn\u0000\u001f\ud83d\ude00é'.split(''),
  );
  const edit = fc.tuple(
    fc.nat(),
    fc.nat(2),
    fc.oneof(character, fc.constantFrom('\\u0000', '\\ud83d', '\\ude00', '\\ud83d\\ude00', '1e999', '01')),
  );
  fc.assert(
    fc.property(
      spelledJson(storableJson),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      ({ text }, edits) => {
        let changed = text;
        for (const [place, removed, added] of edits) {
          const at = place % (changed.length + 1);
          changed = changed.slice(0, at) + added + changed.slice(at + removed);
        }
        // Only UTF-8 gets this far.
        fc.pre(isWellFormed(changed));
        const { text: minified } = scan(changed);
        const expected = platform(changed);
        if (expected === undefined) assert.equal(minified, undefined, changed);
        else assert.deepEqual(JSON.parse(minified ?? 'undefined'), expected);
      },
    ),
    { numRuns: rounds(1500, 5000) },
  );
});

test('agrees with the platform on short strings of JSON characters', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'{}[]",:\\ 01.e-+tn'.split('')), maxLength: 8 }),
      (text) => {
        assert.equal(scan(text).text === undefined, platform(text) === undefined, text);
      },
    ),
    { numRuns: rounds(3000, 10_000) },
  );
});

test('faults name a place and a rule', () => {
  const faults: readonly (readonly [string, string])[] = [
    ['', 'byte 0: expected a value, found the end'],
    ['  ', 'byte 2: expected a value, found the end'],
    ['{"a":1,}', 'byte 7: expected a name in quotes'],
    ['{"a" 1}', 'byte 5: expected ":"'],
    ['{"a":1', 'byte 6: expected "," or "}", found the end'],
    ['[1 2]', 'byte 3: expected "," or "]"'],
    ['[1,]', 'byte 3: expected a value'],
    ['1 2', 'byte 2: expected the end'],
    ['truth', 'byte 0: expected a value'],
    ['nul', 'byte 0: expected a value'],
    ['01', 'byte 0: a number with a leading zero'],
    ['-', 'byte 1: expected a digit, found the end'],
    ['1.', 'byte 2: expected a digit, found the end'],
    ['1e+', 'byte 3: expected a digit, found the end'],
    ['.5', 'byte 0: expected a value'],
    ['NaN', 'byte 0: expected a value'],
    ['1e999', 'byte 0: a number beyond the range of a double'],
    [`-${'9'.repeat(400)}`, 'byte 0: a number beyond the range of a double'],
    ['"abc', 'byte 0: a string without an end'],
    ['"a\nb"', 'byte 2: a control character in a string must be escaped'],
    ['"a\u0000"', 'byte 2: NUL is not allowed'],
    ['"\\u0000"', 'byte 1: NUL is not allowed'],
    ['"\\ud800"', 'byte 1: a lone surrogate is not allowed'],
    ['"\\ude00\\ud83d"', 'byte 1: a lone surrogate is not allowed'],
    ['"\\u12g4"', 'byte 1: \\u needs four hexadecimal digits'],
    ['"\\x"', 'byte 1: not an escape of JSON'],
    ['\ufeff{}', 'byte 0: expected a value'],
  ];
  for (const [text, words] of faults) {
    const { text: minified, fault } = scan(text);
    assert.equal(minified, undefined, text);
    assert.equal(fault, `is not acceptable JSON at ${words}`);
  }
});

test('digits stay as they were sent', () => {
  const text = '[12345678901234567890,1.10,1E5,-0,0.1e-5,1e-999]';
  assert.equal(scan(text).text, text);
});

test('nesting has a bound, and ten thousand levels are an error, not a crash', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  assert.equal(scan(nested(limits.eventDepthMax)).fault, '');
  assert.match(scan(nested(limits.eventDepthMax + 1)).fault, /nested deeper than 128 levels/);
  assert.match(scan(nested(10_000)).fault, /nested deeper/);
  assert.match(scan('{"a":'.repeat(10_000)).fault, /nested deeper/);
});

test('reads no further than the end it is given', () => {
  const text = 'xx{"a":"b"}yy';
  assert.equal(scan(text, 2, 11).text, '{"a":"b"}');
  for (let end = 3; end < 11; end++) assert.equal(scan(text, 2, end).text, undefined, String(end));
  assert.match(scan('12345', 0, 3).text ?? '', /^123$/);
  assert.equal(scan('true', 0, 3).text, undefined);
});

function split(text: string): string[] | string {
  const elements: string[] = [];
  const bytes = Buffer.from(text);
  const fault = splitArray(bytes, 0, bytes.length, (start, end) =>
    elements.push(bytes.toString('utf8', start, end)),
  );
  return fault ?? elements;
}

test('splits an array into the texts of its elements', () => {
  fc.assert(
    fc.property(spelledJson(fc.array(storableJson, { maxLength: 6 })), ({ value, text }) => {
      const elements = split(text);
      assert.ok(Array.isArray(elements), String(elements));
      assert.deepEqual(
        elements.map((element) => JSON.parse(element) as unknown),
        JSON.parse(JSON.stringify(value)),
      );
    }),
    { numRuns: rounds(300, 1000) },
  );
});

test('an element that is no JSON costs no other element', () => {
  const elements = split('[{"a":1}, oops ,{"b":"],["},{"c":[}}]');
  assert.deepEqual(elements, ['{"a":1}', 'oops ', '{"b":"],["}', '{"c":[}}']);
  assert.deepEqual(split('["\\\\","\\""]'), ['"\\\\"', '"\\""']);
  assert.deepEqual(split(' [ ] '), []);
  assert.equal((split(`[${'['.repeat(100_000)}${']'.repeat(100_000)},1]`) as string[]).length, 2);
});

test('an array that is broken itself is refused, and where all elements are JSON it is JSON', () => {
  for (const text of [
    '',
    '{}',
    '[',
    '[1',
    '[1,"a]',
    '[1]]',
    '[1] 2',
    '[}',
    '[1,}]',
    '[{]',
    '[1,]',
    '[1, ]',
    '[,1]',
    '[1,,2]',
    '[1',
  ]) {
    assert.equal(typeof split(text), 'string', text);
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'[]{}",:\\1 '.split('')), maxLength: 10 }), (inside) => {
      const elements = split(`[${inside}`);
      const isJson = Array.isArray(elements) && elements.every((element) => scan(element).text !== undefined);
      assert.equal(isJson, scan(`[${inside}`).text !== undefined);
    }),
    { numRuns: rounds(1500, 5000) },
  );
});

test('of lists without number, and of those nested without end, only as many ends are noted as there is memory for', () => {
  const { containersNotedMax, containersDepthMax } = limits;
  const many = Buffer.from(`[${'[],'.repeat(containersNotedMax + 10)}[]]`);
  assert.equal(containerEnds(many, 0, many.length).size, containersNotedMax);
  const deep = Buffer.from(`[[],${'['.repeat(containersDepthMax)}${']'.repeat(containersDepthMax)}]`);
  assert.deepEqual([...containerEnds(deep, 0, deep.length)], [[1, 2]]);
});
