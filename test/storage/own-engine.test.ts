import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { RunningEngine, WriteHealth, WrittenParts } from '../../src/storage/own-engine.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';

let made: TestEngine;
before(async () => {
  made = await startTestEngine();
});
after(() => made?.stop());

test('what an engine has taken counts only while it is that engine', async () => {
  const { engine, storage, dataDir } = made;
  const own = new RunningEngine(engine, dataDir, new WrittenParts(storage), silentLog);
  const health = new WriteHealth(own);
  const stored = health.watch(async (segment: number) => segment);
  assert.equal(await stored(1), 1);
  assert.equal(own.checks(), 1);
  const died = health.watch(async () => {
    // As when the check of another process has found a part that is cut short: its start sets parts aside.
    process.kill(engine.pid() ?? 0, 'SIGKILL');
    await eventually('the engine to be up again', async () => (engine.restarts() > 0 ? true : undefined));
  });
  await assert.rejects(died(undefined), /the engine has ended since/);
  assert.equal(await health.takesWrites(), false);
  assert.equal(await stored(2), 2);
  assert.equal(await health.takesWrites(), true);
});
