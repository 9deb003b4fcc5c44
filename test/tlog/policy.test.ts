import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PolicyHistory, policyIn, type PolicyStatement } from '../../src/tlog/policy.ts';

const day = 86_400_000_000;
const never = 65_535;
/** A day is a thousand order numbers. */
const entry = (time: number, recorded: number, expires = never) => ({
  seq: BigInt(recorded * 1000),
  time: time * day,
  expires,
  own: false,
  eventHash: new Uint8Array(32),
});
const said = (at: number, days: number | undefined, held = false): PolicyStatement => ({
  seq: BigInt(at * 1000),
  recordedMicros: at * day,
  days,
  held,
});

test('until the first statement the day of expiry counts, and afterwards the statements', () => {
  const none = new PolicyHistory([], 100 * day);
  assert.equal(none.mayBeRemoved(entry(10, 10, 99)), true);
  assert.equal(none.mayBeRemoved(entry(10, 10, 101)), false);
  assert.deepEqual(none.removed, [{ ending: 'recorded', events: 1 }]);

  const longer = new PolicyHistory([said(50, undefined)], 100 * day);
  assert.equal(longer.mayBeRemoved(entry(10, 10, 49)), true, 'it was over before');
  assert.equal(longer.mayBeRemoved(entry(10, 10, 60)), false, 'it was to be kept by then');

  const shorter = said(50, 20);
  const history = new PolicyHistory([shorter], 100 * day);
  assert.equal(history.mayBeRemoved(entry(10, 10)), true);
  assert.equal(history.mayBeRemoved(entry(79, 79)), true, 'the last day that is over');
  assert.equal(history.mayBeRemoved(entry(80, 80)), false, 'the whole last day is kept');
  assert.deepEqual(history.removed, [{ ending: shorter, events: 2 }]);
});

test('a policy applies to events recorded before the next one', () => {
  const short = said(50, 20);
  const statements = [short, said(60, 365)];
  const history = new PolicyHistory(statements.toReversed(), 100 * day);
  assert.equal(history.mayBeRemoved(entry(39, 39)), true);
  assert.equal(history.mayBeRemoved(entry(40, 40)), false, 'it was not over when the longer one came');
  assert.equal(
    history.mayBeRemoved(entry(10, 61)),
    false,
    'an old event that came when it was kept for long',
  );
});

test('nothing expires during a hold', () => {
  const history = new PolicyHistory([said(50, 20), said(55, 20, true), said(90, 20)], 91 * day);
  assert.equal(history.mayBeRemoved(entry(34, 34)), true, 'it was over before the hold');
  assert.equal(
    new PolicyHistory([said(50, 20), said(55, 20, true)], 91 * day).mayBeRemoved(entry(40, 40)),
    false,
  );
  assert.equal(history.mayBeRemoved(entry(40, 40)), true, 'it is over after the release');
  assert.equal(history.mayBeRemoved(entry(71, 71)), false);
});

test('only events with a complete policy are statements', () => {
  const event = (action: unknown, policy: unknown) =>
    JSON.stringify({ message: { action, extra: { policy } } });
  assert.deepEqual(policyIn(event(5013, { days: 30, held: false })), { days: 30, held: false });
  assert.deepEqual(policyIn(event({ code: 5014, title: 'x' }, { days: null, held: true })), {
    days: undefined,
    held: true,
  });
  for (const text of [
    event(5011, { days: 30, held: false }),
    event(5013, { days: 0, held: false }),
    event(5013, { days: '30', held: false }),
    event(5013, { days: 30 }),
    event(5013, undefined),
    '"text"',
    '{',
  ])
    assert.equal(policyIn(text), undefined, text);
});
