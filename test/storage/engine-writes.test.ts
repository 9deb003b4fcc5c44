import { strict as assert } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkedWrite, EngineWrites, rowsOnDisk } from '../../src/storage/engine-writes.ts';
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
  const state = { engine: 'one', failed, failed_writes: failed, path };
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

test('rows are on the disk if no write of their engine has failed', async (t) => {
  assert.deepEqual(await made.storage.rowsOnDisk('SELECT {n:UInt8} AS n WHERE n < 2', { n: 1 }), [
    { n: 1, failed_writes: '0' },
  ]);
  assert.deepEqual(await made.storage.rowsOnDisk('SELECT {n:UInt8} AS n WHERE n < 2', { n: 2 }), []);
  const looked = async (failed: string, statusBytes: number) =>
    (await rowsOnDisk(await failing(t, failed, statusBytes), 'SELECT 1')).length;
  assert.equal(await looked('0', 100), 1);
  assert.equal(await looked('1', 0), 1);
  await assert.rejects(looked('1', 100), /A write of the engine failed/);
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
