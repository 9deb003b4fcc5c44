import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, suite, test } from 'node:test';
import { readEntries } from '../../src/evidence/event-entries.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { entryBytes } from '../../src/tlog/entry.ts';
import { sharedEngine } from '../support/shared.ts';

suite('entries of a stretch', () => {
  let storage: Storage;
  before(async () => {
    ({ storage } = await sharedEngine());
  });

  async function rowsRead(): Promise<number> {
    const [row] = await storage.rows<{ n: string }>(
      `SELECT sum(value) AS n FROM system.events WHERE event = 'SelectedRows'`,
    );
    return Number(row?.n);
  }

  test('are found without a look at the other events of the organization', async () => {
    const organization = randomUUID();
    const events = 100_000;
    await storage.command(
      `INSERT INTO events SELECT {organization:UUID}, toDateTime64('2020-01-01 00:00:00', 6, 'UTC') + number,
         number + 1, 1000, 'a', 'Informational', 'Success', 'INFO', 200, '', '', [], [], '', '',
         toUUID('00000000-0000-0000-0000-000000000000'), toDate('2149-06-06'), false, 'x', toString(number)
       FROM numbers({events:UInt64})`,
      { organization, events },
      { settings: { max_block_size: events } },
    );
    const before = await rowsRead();
    const found = await readEntries(storage, organization, { from: 50_001n, before: 51_001n });
    const read = (await rowsRead()) - before;
    assert.equal(found.entries.length, 1000 * entryBytes);
    assert.ok(read >= 1000 && read < events / 4, `${read} rows were read`);
  });
});
