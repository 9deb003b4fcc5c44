import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { foldEmail, parseAnyEmail, parseEmail } from '../../src/control/email-address.ts';

test('addresses are compared by the case of ASCII letters alone', () => {
  assert.equal(foldEmail('Kate.O@ACME.Example'), 'kate.o@acme.example');
  for (const other of ['\u212aate@acme.example', '\uff2bate@acme.example', 'kat\u00c9@acme.example'])
    assert.notEqual(foldEmail(other), foldEmail(other.toLowerCase()));
});

test('an address of an account that NFKC would change is refused; events may have had it', () => {
  for (const email of [
    '\u212aate@acme.example',
    'kate@\uff41cme.example',
    'kate\ufb01@acme.example',
    'e\u0301@x.y',
  ]) {
    assert.throws(
      () => parseEmail(email),
      (error) => error instanceof Problem && error.code === 'malformed',
    );
    assert.equal(parseAnyEmail(email), email);
  }
  for (const email of ['kate@acme.example', 'zo\u00eb@acme.example', '\u5c71@x.y'])
    assert.equal(parseEmail(` ${email} `), email);
});
