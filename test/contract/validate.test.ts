import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import type { SchemaName } from '../../src/contract/document.ts';
import { validate } from '../../src/contract/validate.ts';

/** What the client reads of a value that is refused. */
function refusal(schema: SchemaName, value: unknown): string {
  try {
    validate(schema, value);
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === 'malformed');
    return error.message;
  }
  assert.fail('the value is valid');
}

test('gives back a valid value', () => {
  const user = { email: 'a@acme.test', name: 'A', role: 'member', password: 'x'.repeat(12) };
  assert.equal(validate('NewUser', user), user);
});

test('names pointers and rules, and no value', () => {
  const secret = 'hunter2';
  const user = { email: 1, role: secret, password: secret, more: secret };
  const text = refusal('NewUser', user);
  for (const rule of [
    '/name: is required',
    '/more: is not a member known here',
    '/email: must be string',
    '/role: must be one of admin, auditor, member',
    '/password: must have at least 12 characters',
  ])
    assert.ok(text.includes(rule), `${rule} is not in ${text}`);
  assert.ok(!text.includes(secret));
  assert.equal(refusal('NewUser', [user]), 'the body: must be object');
});

test('names five rules at most, and the beginning of a long name', () => {
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`${i}${'x'.repeat(1000)}`, 1]));
  const text = refusal('KeyRotation', many);
  assert.equal(text.split('; ').length, 5);
  assert.ok(text.length < 1000);
});

test('refuses invalid settings as in the document: no member, an empty name', () => {
  assert.match(refusal('SettingsChange', {}), /^the body: must NOT have fewer than 1 properties$/);
  assert.equal(refusal('SettingsChange', { name: '' }), '/name: must have at least 1 characters');
});
