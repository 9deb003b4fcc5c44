import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { eventsTable, leftTables, otherTables } from '../../src/backup/tables.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
before(async () => {
  engine = await sharedEngine();
});

// What the engine makes of other columns, a restored one makes anew.
test('each table is in a backup with all its columns, or is left behind with a reason', async () => {
  const rows = await engine.storage.rows<{ table: string; columns: string[] }>(
    `SELECT table, groupArray(name) AS columns FROM system.columns
     WHERE database = currentDatabase() AND default_kind != 'MATERIALIZED' AND table IN
       (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')
     GROUP BY table`,
  );
  const found = new Map(
    rows.map(({ table, columns }) => [table, columns.filter((name) => name !== 'written')]),
  );
  const kept = [eventsTable, ...otherTables];
  assert.deepEqual(
    [...found.keys()].toSorted(),
    [...kept.map(({ name }) => name), ...Object.keys(leftTables)].toSorted(),
  );
  for (const { name, columns } of kept)
    assert.deepEqual(columns.toSorted(), found.get(name)?.toSorted(), name);
});
