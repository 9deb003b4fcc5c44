import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openStorage } from '../../src/storage/client.ts';
import { LaterReleaseError } from '../../src/storage/later-release.ts';
import { isVersionSupported, migrate } from '../../src/storage/migrate.ts';
import { migrationsDirectory } from '../../src/storage/migration-files.ts';
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

test('a later file is applied later; a changed or missing one is refused by name', async () => {
  const storage = open('later');
  await migrate(storage, { log: silentLog, directory: await folder({ '0001_a.sql': first }) });
  const both = await folder({ '0001_a.sql': first, '0002_b.sql': second });
  assert.deepEqual(await migrate(storage, { log: silentLog, directory: both }), { applied: ['0002_b.sql'] });
  const changed = await folder({ '0001_a.sql': `${first}\n`, '0002_b.sql': second });
  await assert.rejects(
    migrate(storage, { log: silentLog, directory: changed }),
    /0001_a\.sql .* has changed/,
  );
  const missing = await folder({ '0001_a.sql': first });
  await assert.rejects(
    migrate(storage, { log: silentLog, directory: missing }),
    /of a later release: migration 0002_b\.sql .* no earlier release works with it; this one knows those up to 0001/,
  );
  const gone = await folder({ '0002_b.sql': second });
  await assert.rejects(migrate(storage, { log: silentLog, directory: gone }), /0001_a\.sql .* is missing/);
});

test('a release works with what a later one has added, and refuses what it has altered too far', async () => {
  const storage = open('back');
  const levels = await readFile(new URL('0018_levels.sql', migrationsDirectory), 'utf8');
  const known = { '0001_a.sql': first, '0018_levels.sql': levels };
  const added = '-- Works from: 0018\nALTER TABLE t ADD COLUMN IF NOT EXISTS later String;\n';
  const warned: object[] = [];
  const log = { ...silentLog, warn: (facts: object) => void warned.push(facts) };
  const migrateTo = async (files: Readonly<Record<string, string>>) =>
    migrate(storage, { log, directory: await folder(files) });
  await migrateTo(known);
  await migrateTo({ ...known, '0020_added.sql': added });
  assert.deepEqual(await migrateTo(known), { applied: [] });
  assert.deepEqual(warned, [{ later: ['0020_added.sql'], known: '0018_levels.sql' }]);
  // One of its own, beside that of the later release: each is applied once, by whoever comes first.
  const between = { ...known, '0019_between.sql': added.replace('later', 'between') };
  assert.deepEqual(await migrateTo(between), { applied: ['0019_between.sql'] });
  const altered = '-- Works from: 0020\nALTER TABLE t DROP COLUMN IF EXISTS later;\n';
  await migrateTo({ ...between, '0020_added.sql': added, '0021_altered.sql': altered });
  await assert.rejects(migrateTo(between), (error) => {
    assert.ok(error instanceof LaterReleaseError);
    assert.match(
      error.message,
      /^the database back is of a later release: migration 0021_altered\.sql was applied at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, and only releases that know 0020 work with it; this one knows those up to 0019\. Start the later release again/,
    );
    return true;
  });
  assert.deepEqual(await migrateTo({ ...between, '0020_added.sql': added }), { applied: [] });
});

test('a file that is missing below newer ones is applied, whoever knows which, and once', async () => {
  const storage = open('gap');
  const levels = await readFile(new URL('0018_levels.sql', migrationsDirectory), 'utf8');
  const add = (column: string, worksFrom: string) =>
    `-- Works from: ${worksFrom}\nALTER TABLE t ADD COLUMN IF NOT EXISTS ${column} String;\n`;
  const files: Readonly<Record<string, string>> = {
    '0001_a.sql': first,
    '0002_b.sql': second,
    '0018_levels.sql': levels,
    '0019_c.sql': add('c', '0018'),
    '0020_d.sql': add('d', '0019'),
    '0021_e.sql': add('e', '0018'),
  };
  const migrateWith = async (...names: string[]) => {
    const known = Object.fromEntries(names.map((name) => [name, files[name] ?? '']));
    return (await migrate(storage, { log: silentLog, directory: await folder(known) })).applied;
  };
  const below = ['0001_a.sql', '0018_levels.sql'];
  assert.deepEqual(await migrateWith(...below, '0021_e.sql'), [...below, '0021_e.sql']);
  // One that knows the newest, and one that does not: each brings what the database lacks, in order.
  assert.deepEqual(await migrateWith(...below, '0002_b.sql', '0021_e.sql'), ['0002_b.sql']);
  assert.deepEqual(await migrateWith(...below, '0002_b.sql', '0019_c.sql'), ['0019_c.sql']);
  const all = Object.keys(files);
  assert.deepEqual(await migrateWith(...all), ['0020_d.sql']);
  assert.deepEqual(await migrateWith(...all), []);
  const columns = await storage.rows<{ name: string }>('DESCRIBE TABLE t');
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['n', 'e', 'a', 'b', 'c', 'd'],
  );
  // What was applied late hinders a release that does not know it as if it had come in its turn.
  await assert.rejects(
    migrateWith(...below, '0002_b.sql'),
    /0020_d\.sql was applied .* only releases that know 0019 work with it; this one knows those up to 0018/,
  );
});

test('from 0018 on a file says which releases work with the tables afterwards', async () => {
  const storage = open('saying');
  const files = (text: string) => folder({ '0019_a.sql': text });
  const refused = async (text: string, words: RegExp) =>
    assert.rejects(migrate(storage, { log: silentLog, directory: await files(text) }), words);
  await refused(first, /0019_a\.sql: the first line must be "-- Works from: NNNN"/);
  await refused(`\n-- Works from: 0018\n${first}`, /the first line must be/);
  await refused(`-- Works from: 0020\n${first}`, /0019_a\.sql: it cannot work from 0020/);
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
