import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activityFamilies, activityName, activityTitles } from '../../src/ocsf/activities.ts';

test('families are apart and in order, and each has titles of its own', () => {
  let last = -1;
  for (const { from, to, family } of activityFamilies) {
    assert.ok(from > last && to >= from, family);
    last = to;
    assert.ok(
      [...activityTitles.keys()].some((code) => code >= from && code <= to),
      family,
    );
  }
});

test('every assigned code lies in a family, and no two share a title', () => {
  for (const code of activityTitles.keys()) {
    assert.ok(
      activityFamilies.some(({ from, to }) => code >= from && code <= to),
      String(code),
    );
  }
  assert.equal(new Set(activityTitles.values()).size, activityTitles.size);
  assert.ok(activityTitles.size >= 90);
});

test('the codes that the contract names keep their titles', () => {
  const named = {
    1000: 'User created',
    1001: 'Login succeeded',
    1002: 'Login failed',
    1003: 'Logged out',
    1300: 'API key created',
  };
  for (const [code, title] of Object.entries(named)) assert.equal(activityName(Number(code)), title);
  const transfers = {
    2000: 'Upload started',
    2001: 'Upload completed',
    2002: 'Download started',
    2003: 'Download completed',
    2010: 'File deleted',
    2020: 'Stream started',
    2021: 'Stream completed',
  };
  for (const [code, title] of Object.entries(transfers)) assert.equal(activityName(Number(code)), title);
});

test('a name is the title sent, else ours, else the family and code, else the code', () => {
  assert.equal(activityName(1001, 'Signed in'), 'Signed in');
  assert.equal(activityName(1001, ''), 'Login succeeded');
  assert.equal(activityName(1099), 'Authentication activity 1099');
  assert.equal(activityName(6729), 'Platform form activity 6729');
  assert.equal(activityName(1400), 'Activity 1400');
  assert.equal(activityName(-5), 'Activity -5');
});
