import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { backupSteps, leftTables } from '../../src/backup/tables.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
before(async () => {
  engine = await sharedEngine();
});

test('each table is in a backup, or is left behind with a reason', async () => {
  const rows = await engine.storage.rows<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`,
  );
  const known = [...Object.values(backupSteps).flat(), ...Object.keys(leftTables)];
  assert.deepEqual(known.toSorted(), rows.map(({ name }) => name).toSorted());
});
