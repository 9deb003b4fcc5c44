import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { limits } from '../../src/base/limits.ts';
import { renderMetrics } from '../../src/base/observability/metrics.ts';

test('damage is new once, is counted by kind, and can be cleared', async () => {
  const register = new DamageRegister();
  const damage = { kind: 'unreadable', id: 'all_1_1_0', detail: 'a damaged part' } as const;
  assert.equal(register.report(damage), true);
  assert.equal(register.report(damage), false);
  assert.deepEqual(register.list(), [damage]);
  assert.match(await renderMetrics(), /^auditlog_damage_known\{kind="unreadable"\} 1$/m);
  register.clear('unreadable', 'all_1_1_0');
  assert.deepEqual(register.list(), []);
  assert.match(await renderMetrics(), /^auditlog_damage_known\{kind="unreadable"\} 0$/m);
});

test('of each kind a bounded number is kept, the first ones', () => {
  const register = new DamageRegister();
  for (let segment = 0; segment <= limits.damageKnownPerKindMax; segment++)
    register.report({ kind: 'log_segment', id: String(segment), detail: '' });
  assert.equal(register.list().length, limits.damageKnownPerKindMax);
  assert.equal(register.list()[0]?.id, '0');
});
