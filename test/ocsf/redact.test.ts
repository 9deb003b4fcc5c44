import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { fromByteText, toWindow } from '../../src/ocsf/byte-text.ts';
import { Cursor } from '../../src/ocsf/json-cursor.ts';
import { skipValue } from '../../src/ocsf/json-text.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { redactKeys, spelledJson, storableName, storableString } from './arbitrary.ts';
import { rounds } from '../support/rounds.ts';

const redaction = new Redaction(redactKeys);

/** What is left of a JSON text; undefined where it has no secret. */
function left(text: string, by = redaction): string | undefined {
  const window = toWindow(text);
  const redacted = by.redacted(window, 0, window.bytes.length);
  return redacted === undefined ? undefined : fromByteText(redacted);
}

/** Whether a reading sees that there may be a secret. */
function isSuspect(text: string): boolean {
  const { bytes, text: byteText } = toWindow(text);
  const c = new Cursor();
  skipValue(c, c.open(bytes, 0, bytes.length, byteText, 0), 0, redaction);
  return c.suspect;
}

function isSecretName(name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[\s\u00ad\u200b-\u200f\ufeff_.-]/g, '');
  return redactKeys.map(plain).includes(plain(name));
}

/** The value with what must not be stored replaced, by another way than the scanner's. */
function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => [
    name,
    isSecretName(name) && item !== null && typeof item !== 'boolean' ? '[redacted]' : redacted(item),
  ]);
  return Object.fromEntries(entries);
}

test('redaction finds the keys at any depth, in any case and spelling, and nothing else', () => {
  const key = fc.oneof(
    fc.constantFrom(...redactKeys).chain((name) => fc.mixedCase(fc.constant(name))),
    fc.constantFrom('passwords', 'toke', 'to\u212aen', 'pass word', 'user', 'tokens', 'otq', ''),
    storableName,
  );
  const tree = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      storableString,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 5 }),
    ),
  })).value;
  fc.assert(
    fc.property(spelledJson(tree), ({ value, text }) => {
      const expected: unknown = JSON.parse(JSON.stringify(redacted(value)));
      assert.deepEqual(JSON.parse(left(text) ?? text), expected);
      // The first reading has seen whatever there is.
      if (left(text) !== undefined) assert.ok(isSuspect(text));
    }),
    { numRuns: rounds(900, 3000) },
  );
});

test('doubled names, whole containers, and nothing around them', () => {
  assert.equal(
    left('{"token": {"a": [1, {"b":2}]}, "token" :1, "x":[{"OTP" : ""}, {"otp": null}] }'),
    '{"token": "[redacted]", "token" :"[redacted]", "x":[{"OTP" : "[redacted]"}, {"otp": null}] }',
  );
  assert.equal(left('{"a":1}'), undefined);
});

test('configured keys may be of any length and letters', () => {
  const long = 'k'.repeat(100);
  const redaction = new Redaction(['İd', 'ÄÖ', long, 'Key']);
  const covers = (name: string) => left(JSON.stringify({ [name]: 1 }), redaction) !== undefined;
  for (const name of ['İd', 'i\u0307D', 'äö', 'ÄÖ', long.toUpperCase(), 'KEY', '\u212aey'])
    assert.ok(covers(name), name);
  for (const name of ['id', 'ao', 'k', `${long}k`, 'keys']) assert.ok(!covers(name), name);
});
