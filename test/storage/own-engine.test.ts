import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { RunningEngine, WriteHealth, WrittenParts } from '../../src/storage/own-engine.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';

let made: TestEngine;
before(async () => {
  made = await startTestEngine();
});
after(() => made?.stop());

test('what an engine has taken counts only while it is that engine', async (t) => {
  const { engine, storage, dataDir } = made;
  const own = RunningEngine.of(engine, dataDir, new WrittenParts(storage), silentLog);
  t.after(() => own.stop());
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

test('what a full disk has cut short, of whichever table, is out of the way before anything is written', async (t) => {
  const { engine, storage } = made;
  const written = new WrittenParts(storage);
  await written.trustLoaded();
  let free = 2 ** 40;
  const own = new RunningEngine({ engine, written, log: silentLog, freeBytes: async () => free });
  t.after(() => own.stop());
  assert.equal((await own.look()).hasRoom, true);
  await storage.command('SYSTEM STOP MERGES leases');
  await storage.insertRows('leases', [{ name: 'x', owner: randomUUID(), held: true, version: 1 }]);
  const [part] = await storage.rows<{ path: string }>(
    "SELECT path FROM system.parts WHERE table = 'leases' AND active ORDER BY modification_time DESC LIMIT 1",
  );
  await truncate(join(part?.path ?? '', 'data.bin'), 1);
  const restarts = engine.restarts();
  free = 0;
  assert.equal((await own.look()).hasRoom, false);
  free = 2 ** 40;
  assert.equal((await own.look()).hasRoom, false);
  await eventually('the engine to take writes', async () => (await own.look()).hasRoom || undefined);
  assert.equal(engine.restarts(), restarts + 1);
  assert.deepEqual(await storage.rows('SELECT name FROM leases'), []);
});
