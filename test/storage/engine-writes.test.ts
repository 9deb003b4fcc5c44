import { strict as assert } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkedWrite, EngineWrites } from '../../src/storage/engine-writes.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';

let made: TestEngine;
before(async () => {
  made = await startTestEngine();
});
after(() => made?.stop());

/** A storage whose engine says that so many of its writes have failed, and whose file `status` has a size. */
async function failing(t: { after(work: () => unknown): void }, failed: string, statusBytes: number) {
  const path = await temporaryDirectory();
  t.after(() => removeDirectory(path));
  await writeFile(join(path, 'status'), Buffer.alloc(statusBytes));
  const state = { engine: 'one', failed, path };
  const readRows: Storage['readRows'] = async <T>() => [state] as T[];
  return { ...made.storage, readRows };
}

test('what an engine has taken counts only while it is that engine', async () => {
  const { engine, storage } = made;
  assert.equal(await storage.checked(async () => 1), 1);
  const died = storage.checked(async () => {
    process.kill(engine.pid() ?? 0, 'SIGKILL');
    await eventually('the engine to be up again', async () => (engine.restarts() > 0 ? true : undefined));
  });
  await assert.rejects(died, /The engine ended during/);
  assert.equal(await storage.checked(async () => 2), 2);
});

test('a failed write fails each statement of that engine, but for its status on a full disk', async (t) => {
  const outcome = async (failed: string, statusBytes: number): Promise<number> =>
    checkedWrite(await failing(t, failed, statusBytes), async () => 1);
  assert.equal(await outcome('0', 100), 1);
  assert.equal(await outcome('1', 0), 1);
  await assert.rejects(outcome('2', 0), /A write of the engine failed/);
  await assert.rejects(outcome('1', 100), /A write of the engine failed/);
});

test('the engine of this process is known by its process, and asked once', async (t) => {
  const { engine } = made;
  const asked: string[] = [];
  const readRows: Storage['readRows'] = (query, ...more) => {
    asked.push(query);
    return made.storage.readRows(query, ...more);
  };
  const check = (work: () => Promise<number>) => checkedWrite({ readRows }, work, () => engine.pid());
  assert.equal(await check(async () => 1), 1);
  assert.equal(asked.length, 1);
  const restarts = engine.restarts();
  const died = check(async () => {
    engine.kill();
    await eventually('the engine to be up again', async () => engine.restarts() > restarts || undefined);
    return 1;
  });
  await assert.rejects(died, /The engine ended during/);
  const failed = async (count: string) =>
    checkedWrite(
      await failing(t, count, 100),
      async () => 1,
      () => 1,
    );
  assert.equal(await failed('0'), 1);
  await assert.rejects(failed('1'), /A write of the engine failed/);
});

test('an engine with a failed write is killed, also where nobody writes', async (t) => {
  const { dataDir } = made;
  let kills = 0;
  const kill = (): void => void (kills += 1);
  const writes = new EngineWrites({
    own: { storage: await failing(t, '1', 100), dataDir, kill },
    log: silentLog,
  });
  t.after(() => writes.stop());
  await eventually('it to be killed', async () => (kills > 0 ? true : undefined));
});
