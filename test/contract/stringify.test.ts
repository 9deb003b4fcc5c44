import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Schemas } from '../../src/contract/document.ts';
import { stringify, stringifyOutput } from '../../src/contract/stringify.ts';

const problem: Schemas['Problem'] = {
  type: 'about:blank',
  title: 'Bad Request',
  status: 400,
  detail: 'No event "of"\nthe batch \u2028 was accepted.',
  request_id: 'r',
  accepted: 0,
  rejected: 1,
  errors: [{ index: 0, error: '/message/action: is required' }],
};

test('writes the same as JSON.stringify, without undefined members', () => {
  assert.equal(stringify('Problem', problem), JSON.stringify(problem));
  assert.equal(
    stringify('Problem', { ...problem, errors: undefined }),
    JSON.stringify({ ...problem, errors: undefined }),
  );
  const answer = { accepted: 2 ** 40, rejected: 0, errors: [] };
  assert.equal(stringify('IngestAnswer', answer), JSON.stringify(answer));
});

test('keeps null where the schema has it', () => {
  const loss = { loss: 'h', part: null, events: 1, organizations: null };
  assert.equal(stringifyOutput('CliLoss', loss), JSON.stringify(loss));
});

test('refuses a value without a required member', () => {
  const { detail: _, ...rest } = problem;
  assert.throws(() => stringify('Problem', rest as Schemas['Problem']), /"detail" is required/);
});

test('writes any text as JSON.stringify does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), fc.string(), (detail, title) => {
      const body = { ...problem, title, detail };
      assert.equal(stringify('Problem', body), JSON.stringify(body));
    }),
  );
});
