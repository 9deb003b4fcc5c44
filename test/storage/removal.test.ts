import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, suite, test } from 'node:test';
import { EventRemoval } from '../../src/storage/removal.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { sharedEngine } from '../support/shared.ts';

suite('removing events', () => {
  let storage: Storage;
  before(async () => {
    ({ storage } = await sharedEngine());
  });

  /** One part of the month of the lowest order numbers, which no other test has. */
  function fill(org: string, rows: number): Promise<void> {
    return storage.command(
      `INSERT INTO events SELECT {org:UUID}, toDateTime64('2020-01-01 00:00:00', 6, 'UTC') + number, number + 1, 1000, 'a',
         'Informational', 'Success', 'INFO', 200, '', '', [], [], '', '', toUUID('00000000-0000-0000-0000-000000000000'),
         toDate('2149-06-06'), false, 'x', 'y' FROM numbers({rows:UInt64})`,
      { org, rows },
    );
  }

  async function number(query: string, parameters = {}): Promise<number> {
    const [row] = await storage.rows<{ n: string }>(query, parameters);
    return Number(row?.n);
  }

  const rowsRead = () => number(`SELECT sum(value) AS n FROM system.events WHERE event = 'SelectedRows'`);
  const rowsOf = (org: string) => number('SELECT count() AS n FROM events WHERE org = {org:UUID}', { org });

  test('leaves parts unread that have nothing of the organizations', async () => {
    const [over, other] = [randomUUID(), randomUUID()];
    const rows = 100_000;
    await fill(other, rows);
    await fill(over, 100);
    const removal = new EventRemoval(storage);
    const bounds = { organization: over, beforeMicros: Date.UTC(2021, 0, 1) * 1000 };
    const plan = await removal.plan(bounds, 2n ** 62n);
    assert.ok(plan !== undefined);
    const readBefore = await rowsRead();
    const done = await removal.carryOut([plan]);
    const read = (await rowsRead()) - readBefore;
    assert.ok(read >= 100 && read < rows / 2, `${read} rows were read`);
    assert.equal(
      done[0]?.counts.reduce((sum, count) => sum + count.rows, 0),
      100,
    );
    assert.deepEqual([await rowsOf(over), await rowsOf(other)], [0, rows]);
  });

  test('counts what has expired where a projection finds it, as the engine does in a table of a million rows', async () => {
    const [org, other] = [randomUUID(), randomUUID()];
    await fill(other, 20_000);
    await fill(org, 20_000);
    const large: Storage = {
      ...storage,
      rows: (query, parameters, options) =>
        storage.rows(query, parameters, {
          ...options,
          settings: { ...options?.settings, min_table_rows_to_use_projection_index: 0 },
        }),
    };
    const bounds = { organization: org, beforeMicros: Date.UTC(2021, 0, 1) * 1000 };
    const plan = await new EventRemoval(large).plan(bounds, 101n);
    assert.deepEqual(
      plan?.counts.map(({ rows }) => rows),
      [100],
    );
  });

  test('keeps what the service itself says of policies, and nothing that producers say', async () => {
    const organization = randomUUID();
    await storage.command(
      `INSERT INTO events (org, time, seq, activity_id, expires, own, source)
       SELECT {organization:UUID}, toDateTime64('2020-01-01 00:00:00', 6, 'UTC') + number, 5000000 + number,
         5012 + number % 5, toDate('2149-06-06'), number >= 5, 'y' FROM numbers(10)`,
      { organization },
    );
    const removal = new EventRemoval(storage);
    const over = { organization, beforeMicros: Date.UTC(2021, 0, 1) * 1000 };
    const plan = await removal.plan(over, 2n ** 62n);
    assert.ok(plan !== undefined);
    await removal.carryOut([plan]);
    const left = await storage.rows<{ code: number; own: boolean }>(
      `SELECT toInt32(activity_id) AS code, own FROM events WHERE org = {organization:UUID} ORDER BY seq`,
      { organization },
    );
    assert.deepEqual(
      left,
      [5013, 5014, 5015, 5016].map((code) => ({ code, own: true })),
    );
  });
});
