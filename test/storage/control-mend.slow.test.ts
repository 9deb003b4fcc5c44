import { strict as assert } from 'node:assert';
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { apiKeyTable } from '../../src/control/api-keys.ts';
import { openStorage } from '../../src/storage/client.ts';
import { ControlCopy } from '../../src/storage/control-copy.ts';
import { type Mended, mendControlData } from '../../src/storage/control-mend.ts';
import { type ControlTableName, controlTableNames } from '../../src/storage/control-rows.ts';
import type { EmbeddedEngine } from '../../src/storage/engine.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { flipBit } from '../support/flip-bit.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog, startEngine } from '../support/engine.ts';
import { copyEngineTemplate } from '../support/engine-template.ts';

/** The control tables of a real engine, harmed while it is stopped as a disk would do it, and mended from their copy. */

let dataDir: string;
let engine: EmbeddedEngine;
let storage: Storage;
let copy: ControlCopy;

async function start(): Promise<void> {
  engine = await startEngine(dataDir);
  storage = openStorage(engine.connection, silentLog, undefined, copy);
  for (const table of controlTableNames) await storage.command(`SYSTEM STOP MERGES ${table}`);
}

async function stop(): Promise<void> {
  await storage.close();
  await engine.stop();
}

before(async () => {
  dataDir = await temporaryDirectory();
  await copyEngineTemplate(dataDir);
  copy = new ControlCopy(dataDir);
  await start();
  await mend();
  // Of each table two rows as they were made, and then, in a part of its own, what has ended one of them.
  for (const table of controlTableNames) {
    await storage.insertRows(table, [rowOf(table, 1, 1), rowOf(table, 2, 1)]);
    await storage.insertRows(table, [{ ...rowOf(table, 1, 2), ...endOf[table] }]);
  }
});
after(async () => {
  await stop();
  await removeDirectory(dataDir);
});

const mend = (): Promise<Mended> => mendControlData({ storage, copy });

const idOf = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const moment = '2026-11-23 10:00:00.000001';
const later = '2100-01-01 00:00:00.000000';
const endOf: Readonly<Partial<Record<ControlTableName, object>>> = {
  organizations: { deleted_at: moment },
  users: { disabled_at: moment },
  api_keys: { revoked_at: moment },
  retention_policies: { held_at: moment },
};

function rowOf(table: ControlTableName, n: number, version: number): object {
  const row = { id: idOf(n), version };
  return table === 'ended_sessions' ? { ...row, expires_at: later } : row;
}

const everything = async () => {
  const found: Record<string, unknown> = {};
  for (const table of controlTableNames)
    found[table] = await storage.rows(`SELECT * EXCEPT written FROM ${table} FINAL ORDER BY id`);
  return found;
};

async function pathsOf(table: string): Promise<{ folder: string; parts: string[] }> {
  const [found] = await storage.rows<{ data_paths: string[] }>(
    'SELECT data_paths FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
    { table },
  );
  const parts = await storage.rows<{ path: string }>(
    `SELECT path FROM system.parts WHERE database = currentDatabase() AND table = {table:String} AND active
     ORDER BY max_block_number`,
    { table },
  );
  return { folder: found?.data_paths[0] ?? '', parts: parts.map(({ path }) => path) };
}

type Paths = Awaited<ReturnType<typeof pathsOf>>;

/** Harms all control tables while the engine is stopped. */
async function harmed(harm: (paths: Paths, table: ControlTableName) => Promise<void>): Promise<void> {
  const paths = new Map<ControlTableName, Paths>();
  for (const table of controlTableNames) paths.set(table, await pathsOf(table));
  await stop();
  for (const [table, ofTable] of paths) await harm(ofTable, table);
  await start();
}

const tablesOf = ({ tables }: Mended): string[] => tables.map(({ table }) => table);

describe('whatever a disk does to the tables', () => {
  const harms: Readonly<Record<string, (paths: Paths) => Promise<void>>> = {
    'a bit of the newest part': ({ parts }) => flipBit(join(parts.at(-1) ?? '', 'data.bin')),
    'a bit of its last column, when it was written': ({ parts }) =>
      flipBit(join(parts.at(-1) ?? '', 'data.bin'), 1),
    'the newest part is gone': ({ parts }) => rm(parts.at(-1) ?? '', { recursive: true }),
    'a part cannot be loaded': ({ parts }) => truncate(join(parts.at(-1) ?? '', 'data.bin'), 10),
    'all parts are gone': async ({ parts }) => {
      for (const part of parts) await rm(part, { recursive: true });
    },
  };
  for (const [name, harm] of Object.entries(harms))
    test(`${name}: what was ended stays ended, and what was good is there`, async () => {
      const whole = await everything();
      await harmed(harm);
      const { tables, copy: ofCopy } = await mend();
      const unmended = tables.filter((one) => one.unmended !== undefined);
      assert.deepEqual(
        [tables.map(({ table }) => table), unmended, ofCopy],
        [controlTableNames, [], undefined],
      );
      assert.ok(tables.every(({ putBack }) => putBack > 0));
      assert.deepEqual(await everything(), whole);
      assert.deepEqual(await mend(), { tables: [], copy: undefined });
    });

  test('an older copy of the folder of a table is brought up to now', async () => {
    const older = await temporaryDirectory();
    await harmed(({ folder }, table) => cp(folder, join(older, table), { recursive: true }));
    for (const table of controlTableNames) await storage.insertRows(table, [rowOf(table, 2, 9)]);
    const whole = await everything();
    await harmed(async ({ folder }, table) => {
      await rm(folder, { recursive: true });
      await cp(join(older, table), folder, { recursive: true });
    });
    assert.notDeepEqual(await everything(), whole);
    assert.deepEqual(tablesOf(await mend()), controlTableNames);
    assert.deepEqual(await everything(), whole);
    await removeDirectory(older);
  });
});

test('a change that would be made of what a table has lost is refused until that is back', async () => {
  const id = idOf(1);
  await storage.insertRows('api_keys', [{ ...rowOf('api_keys', 1, 40), ...endOf.api_keys }]);
  await harmed(async ({ parts }, table) => {
    if (table === 'api_keys') await rm(parts.at(-1) ?? '', { recursive: true });
  });
  const rename = async () => {
    const [current] = await apiKeyTable.select(storage, 'id = {id:String}', { id });
    assert.ok(current);
    return apiKeyTable.update(storage, current, { name: 'renamed' }, 50);
  };
  await assert.rejects(rename(), /is being put back/);
  await mend();
  const { name, revokedMicros } = await rename();
  assert.deepEqual([name, revokedMicros !== undefined], ['renamed', true]);
});

describe('whatever a disk does to the copy', () => {
  const harms: Readonly<Record<string, () => Promise<void>>> = {
    'a bit': () => flipBit(copy.path),
    'all of it': () => rm(copy.path),
    'what was written last': async () => {
      const text = await readFile(copy.path);
      await writeFile(copy.path, text.subarray(0, Math.floor(text.length / 2)));
    },
    'an older one': async () => {
      const older = await readFile(copy.path);
      await storage.insertRows('api_keys', [{ ...rowOf('api_keys', 2, 20), ...endOf.api_keys }]);
      await writeFile(copy.path, older);
    },
  };
  for (const [name, harm] of Object.entries(harms))
    test(`${name}: the tables stay as they are, and the copy is made anew of them`, async () => {
      const whole = await everything();
      await harm();
      const now = name === 'an older one' ? await everything() : whole;
      assert.deepEqual((await mend()).tables, []);
      assert.deepEqual(await everything(), now);
      const { isWhole, rows } = await copy.content();
      assert.ok(isWhole);
      for (const table of controlTableNames)
        assert.deepEqual(
          [...(rows.get(table)?.values() ?? [])]
            .map(({ id, version }) => [id, Number(version)] as const)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
          (now[table] as { id: string; version: string }[]).map(({ id, version }) => [id, Number(version)]),
        );
    });

  test('where neither has what is in a damaged part, nothing is taken out before somebody says so', async () => {
    await harmed(async ({ parts }, table) => {
      if (table === 'users') await flipBit(join(parts.at(-1) ?? '', 'data.bin'));
    });
    const kept = await readFile(copy.path);
    await rm(copy.path);
    const [found] = (await mend()).tables;
    assert.deepEqual([found?.table, found?.takenOut], ['users', []]);
    assert.match(found?.unmended ?? '', /cannot be read \(part all_.*no whole copy/);
    // The copy that somebody has kept elsewhere does.
    await writeFile(copy.path, kept);
    const [mended] = (await mend()).tables;
    assert.deepEqual([mended?.table, mended?.takenOut.length, mended?.unmended], ['users', 1, undefined]);
  });
});

test('what was removed for good is neither put back nor left in the copy', async () => {
  const id = idOf(1);
  // A mutation waits for them.
  for (const table of controlTableNames) await storage.command(`SYSTEM START MERGES ${table}`);
  const kept = { ...rowOf('users', 1, 30), name: 'erased' };
  await storage.insertRows('users', [{ ...rowOf('users', 1, 29), name: 'Alice' }, kept]);
  await storage.removeRows('users', { column: 'id', id, below: 30 });
  await storage.removeRows('sign_ons', { column: 'id', id });
  const now = await everything();
  await mend();
  assert.deepEqual(await everything(), now);
  const text = await readFile(copy.path, 'utf8');
  assert.ok(text.includes('erased') && !text.includes('Alice'));
  assert.equal((await stat(copy.path)).mode & 0o777, 0o600);
  assert.ok(!(await readdir(dataDir)).includes('control-data.log.tmp'));
});

test('what is compared while it is being removed stays away, too', async () => {
  const id = idOf(5);
  await storage.insertRows('sign_ons', [rowOf('sign_ons', 5, 1)]);
  await copy.forget('sign_ons', { column: 'id', id });
  // The engine has not come to it yet.
  await mend();
  await storage.command(`ALTER TABLE sign_ons DELETE WHERE id = '${id}' SETTINGS mutations_sync = 2`);
  const now = await everything();
  assert.deepEqual((await mend()).tables, []);
  assert.deepEqual(await everything(), now);
  assert.ok(!(await readFile(copy.path, 'utf8')).includes(id));
});
