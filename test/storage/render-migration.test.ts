import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { renderMigration } from '../../src/storage/migration-files.ts';
import { isIdempotent } from './idempotent.ts';
import { projectRoot } from '../support/project-root.ts';

const one = { database: 'audit' };
const cluster = { database: 'audit', cluster: 'main' };

const sql = `-- a comment; with a semicolon at its end;
CREATE TABLE IF NOT EXISTS {{sharded t}} {{on_cluster}} (n UInt8) -- trailing
ENGINE = {{MergeTree}} ORDER BY n;

{{distributed t by cityHash64(n)}};
CREATE TABLE IF NOT EXISTS c {{on_cluster}} (s String DEFAULT ';', version UInt64)
ENGINE = {{ReplacingMergeTree(version)}} ORDER BY s;
ALTER TABLE c {{on_cluster}} ADD COLUMN IF NOT EXISTS x String, DROP INDEX IF EXISTS y;
{{on_distributed}} ALTER TABLE t {{on_cluster}} ADD COLUMN IF NOT EXISTS z String;
`;

test('on one engine placeholders vanish', () => {
  assert.deepEqual(renderMigration(sql, one), [
    'CREATE TABLE IF NOT EXISTS t (n UInt8) -- trailing\nENGINE = MergeTree ORDER BY n',
    `CREATE TABLE IF NOT EXISTS c (s String DEFAULT ';', version UInt64)\nENGINE = ReplacingMergeTree(version) ORDER BY s`,
    'ALTER TABLE c ADD COLUMN IF NOT EXISTS x String, DROP INDEX IF EXISTS y',
  ]);
});

test('on a cluster tables are replicated, events sharded, control tables whole on every node', () => {
  assert.deepEqual(renderMigration(sql, cluster), [
    "CREATE TABLE IF NOT EXISTS t_local ON CLUSTER `main` (n UInt8) -- trailing\nENGINE = ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}') ORDER BY n",
    "CREATE TABLE IF NOT EXISTS t ON CLUSTER `main` AS t_local ENGINE = Distributed('main', 'audit', 't_local', cityHash64(n))",
    "CREATE TABLE IF NOT EXISTS c ON CLUSTER `main` (s String DEFAULT ';', version UInt64)\nENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/all', '{shard}_{replica}', version) ORDER BY s",
    'ALTER TABLE c ON CLUSTER `main` ADD COLUMN IF NOT EXISTS x String, DROP INDEX IF EXISTS y',
    'ALTER TABLE t ON CLUSTER `main` ADD COLUMN IF NOT EXISTS z String',
  ]);
});

test('statements that differ on a second run are told from those that do not', () => {
  for (const bad of [
    'CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n;',
    'CREATE OR REPLACE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n;',
    'DROP TABLE t;',
    'ALTER TABLE t ADD COLUMN a String;',
    'ALTER TABLE t ADD COLUMN IF NOT EXISTS a String, ADD INDEX b a TYPE minmax;',
    'ALTER TABLE t DELETE WHERE n = 1;',
    'INSERT INTO t VALUES (1);',
    'TRUNCATE TABLE t;',
  ]) {
    assert.equal(isIdempotent(bad.slice(0, -1)), false, bad);
  }
  for (const good of [
    'CREATE OR REPLACE VIEW v AS SELECT 1;',
    'DROP VIEW IF EXISTS v;',
    'ALTER TABLE t MODIFY SETTING old_parts_lifetime = 1;',
    'ALTER TABLE t MODIFY TTL expires;',
    'ALTER TABLE t MATERIALIZE PROJECTION p;',
  ]) {
    assert.equal(isIdempotent(good.slice(0, -1)), true, good);
  }
});

test('an unknown placeholder is refused', () => {
  assert.throws(
    () => renderMigration('CREATE TABLE IF NOT EXISTS t {{oncluster}};', one),
    /\{\{oncluster\}\}/,
  );
});

test("the project's own files render for both, and each statement may run again", async () => {
  const directory = new URL('schema/migrations/', projectRoot);
  for (const name of await readdir(directory)) {
    const text = await readFile(new URL(name, directory), 'utf8');
    assert.ok(renderMigration(text, one).length > 0, name);
    for (const statement of renderMigration(text, one)) assert.ok(isIdempotent(statement), statement);
    for (const statement of renderMigration(text, cluster)) assert.match(statement, /ON CLUSTER `main`/);
  }
});
