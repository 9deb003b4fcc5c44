import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openStorage } from '../../src/storage/client.ts';
import { isVersionSupported, migrate, OtherReleaseError } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
const opened: Storage[] = [];
const directories: string[] = [];

before(async () => {
  engine = await sharedEngine();
});
after(async () => {
  await Promise.all(opened.map((storage) => storage.close()));
  await Promise.all(directories.map((directory) => rm(directory, { recursive: true })));
});

function open(database: string): Storage {
  const storage = openStorage({ ...engine.connection, database }, silentLog);
  opened.push(storage);
  return storage;
}

async function folder(files: Readonly<Record<string, string>>): Promise<URL> {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-migrations-'));
  directories.push(directory);
  for (const [name, sql] of Object.entries(files)) await writeFile(join(directory, name), sql);
  return pathToFileURL(`${directory}/`);
}

const first = 'CREATE TABLE IF NOT EXISTS t (n UInt8) ENGINE = {{MergeTree}} ORDER BY n;\n';
const second =
  'ALTER TABLE t ADD COLUMN IF NOT EXISTS a String;\nALTER TABLE t ADD COLUMN IF NOT EXISTS b String;\n';

test('nothing is written without room, which is not asked for where nothing is to be written', async () => {
  const storage = open('roomless');
  const files = { '0001_a.sql': first };
  const full = () => Promise.reject(new Error('the disk is full'));
  const options = { log: silentLog, directory: await folder(files) };
  const asDefault = { settings: { database: 'default' } };
  const databases = () =>
    storage.rows("SELECT 1 FROM system.databases WHERE name = 'roomless'", {}, asDefault);
  await assert.rejects(migrate(storage, { ...options, requireRoom: full }), /the disk is full/);
  assert.deepEqual(await databases(), []);
  await migrate(storage, options);
  assert.deepEqual(await migrate(storage, { ...options, requireRoom: full }), { applied: [] });
  const later = {
    ...options,
    directory: await folder({ ...files, '0002_b.sql': second }),
    requireRoom: full,
  };
  await assert.rejects(migrate(storage, later), /the disk is full/);
  assert.equal((await storage.rows('DESCRIBE TABLE t')).length, 1);
});

test('files are applied in order, once', async () => {
  const storage = open('once');
  const directory = await folder({ '0002_b.sql': second, '0001_a.sql': first, 'notes.txt': 'no' });
  const options = { log: silentLog, directory };
  assert.deepEqual(await migrate(storage, options), { applied: ['0001_a.sql', '0002_b.sql'] });
  assert.deepEqual(await migrate(storage, options), { applied: [] });
  const columns = await storage.rows<{ name: string }>('DESCRIBE TABLE t');
  assert.deepEqual(
    columns.map((column) => column.name),
    ['n', 'a', 'b'],
  );
  const records = await storage.rows<{ name: string; checksum: string; fresh: number }>(
    'SELECT name, checksum, applied > now() - 60 AS fresh FROM schema_migrations ORDER BY name',
  );
  assert.deepEqual(
    records.map((record) => [record.name, /^[0-9a-f]{64}$/.test(record.checksum), record.fresh]),
    [
      ['0001_a.sql', true, 1],
      ['0002_b.sql', true, 1],
    ],
  );
});

test('a later file is applied later; what another release has applied is refused in one line', async () => {
  const storage = open('later');
  const both = { '0001_a.sql': first, '0002_b.sql': second };
  const migrateTo = async (files: Readonly<Record<string, string>>) =>
    (await migrate(storage, { log: silentLog, directory: await folder(files) })).applied;
  const refused = async (files: Readonly<Record<string, string>>, words: RegExp) =>
    assert.rejects(migrateTo(files), (error) => {
      assert.ok(error instanceof OtherReleaseError);
      assert.match(error.message, words);
      return true;
    });
  await migrateTo({ '0001_a.sql': first });
  assert.deepEqual(await migrateTo(both), ['0002_b.sql']);
  const when = String.raw`was applied at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
  const start = 'The database later belongs to another release: migration';
  await refused(
    { '0001_a.sql': first },
    new RegExp(
      `^${start} 0002_b\\.sql ${when}, and this release knows only those up to 0001; start the later release; see docs/install\\.md$`,
    ),
  );
  const other = new RegExp(
    `^${start} 0001_a\\.sql ${when}, and this release has no such migration, or another one of that name; see docs/install\\.md$`,
  );
  await refused({ ...both, '0001_a.sql': `${first}\n` }, other);
  await refused({ '0002_b.sql': second }, other);
  assert.deepEqual(await migrateTo(both), []);
});

test('processes that start at once agree', async () => {
  const directory = await folder({
    '0001_a.sql': first,
    '0002_b.sql': second,
    '0003_c.sql':
      'CREATE OR REPLACE VIEW v AS SELECT n FROM t;\nALTER TABLE t MODIFY SETTING old_parts_lifetime = 60;\n',
  });
  const storages = Array.from({ length: 6 }, () => open('at_once'));
  const results = await Promise.all(
    storages.map((storage) => migrate(storage, { log: silentLog, directory })),
  );
  const applied = new Set(results.flatMap((result) => result.applied));
  assert.deepEqual([...applied].sort(), ['0001_a.sql', '0002_b.sql', '0003_c.sql']);
  assert.deepEqual(await migrate(open('at_once'), { log: silentLog, directory }), { applied: [] });
});

test('a file that cannot be rendered or named is refused, and nothing is applied', async () => {
  const storage = open('refused');
  const directory = await folder({
    '0001_a.sql': first,
    '0002_b.sql': 'ALTER TABLE t {{oncluster}} ADD COLUMN a String;\n',
  });
  await assert.rejects(migrate(storage, { log: silentLog, directory }), /0002_b\.sql: unknown placeholder/);
  const twice = await folder({ '0001_a.sql': first, '0001_b.sql': second });
  await assert.rejects(
    migrate(storage, { log: silentLog, directory: twice }),
    /0001_b\.sql: the number 0001/,
  );
  const named = await folder({ 'first.sql': first });
  await assert.rejects(migrate(storage, { log: silentLog, directory: named }), /first\.sql: the name/);
  const found = await engine.storage.rows(`SELECT name FROM system.databases WHERE name = 'refused'`);
  assert.deepEqual(found, []);
});

test('an engine without the indexes of the schema is told apart by its version', () => {
  for (const version of ['26.2.1.1', '26.3', '26.10.4.1-lts', '27.1.1.1'])
    assert.equal(isVersionSupported(version), true, version);
  for (const version of ['25.8.2.29', '26.1.9.9', '3.99', ''])
    assert.equal(isVersionSupported(version), false, version);
});

test('a database with an odd name works', async () => {
  const storage = open('odd `name\\');
  const directory = await folder({ '0001_a.sql': first });
  assert.deepEqual(await migrate(storage, { log: silentLog, directory }), { applied: ['0001_a.sql'] });
});
