import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toReadable, type ByteFlow } from '../../src/base/byte-flow.ts';
import { formatMicros } from '../../src/base/timestamp.ts';
import { createExportReader, exportFormats } from '../../src/read/export.ts';
import { createFeedReader } from '../../src/read/feed.ts';
import { createFeedCursors } from '../../src/read/feed-cursor.ts';
import { readQueue } from '../../src/read/fair-queue.ts';
import type { AuditFilter } from '../../src/read/filter.ts';
import { createLegacyReader } from '../../src/read/legacy.ts';
import { createPageReader } from '../../src/read/page.ts';
import { Ocsf110Pool } from '../../src/read/ocsf110/pool.ts';
import type { ReadBody } from '../../src/read/read-body.ts';
import { createReceiptsReader } from '../../src/read/receipts.ts';
import { openStorage } from '../../src/storage/client.ts';
import { moveEvents } from '../../src/storage/events-move.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { withMigrationClaim } from '../../src/storage/migration-claims.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { publishWatermark, withdrawWatermark } from '../../src/storage/watermarks.ts';
import { createRecorder } from '../read/support.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { columnsSince010, migrateAsRelease010 } from '../support/old-release.ts';
import { skippedForLength } from '../support/rounds.ts';

const file = '0006_events_by_ingest_month.sql';
const [acme, globex] = [randomUUID(), randomUUID()];
const user = { id: 'u-1', email: 'ann@example.com' };
const flows = Array.from({ length: 40 }, () => randomUUID());
const recordedMonths = [202401, 202402, 202407, 202412, 202511];
const manyEvents = 300;
const envelope = { head: '{', tail: '}}' };
const never = new AbortController().signal;

/** Few months, as each is a part of its own in every insert: that is what the move is about. */
const farMonths = [Date.UTC(1973, 5), Date.UTC(2150, 6), Date.UTC(2199, 11)];

/** Events recorded in five months, and their times: about then, or from 1973 to 2199. */
async function fill(storage: Storage, perMonth: number): Promise<void> {
  let at = 0;
  let n = 0;
  const record = createRecorder(storage, { now: () => at, without: columnsSince010 });
  for (const month of recordedMonths) {
    at = Date.UTC(Math.floor(month / 100), (month % 100) - 1, 15);
    const eventsOf = (count: number) => Array.from({ length: count }, () => eventOf(n++, at, perMonth));
    await record(acme, eventsOf(perMonth));
    if (perMonth >= manyEvents && month === recordedMonths[1]) await record(globex, eventsOf(100));
  }
}

function eventOf(n: number, at: number, perMonth: number): object {
  const isFar = perMonth >= manyEvents && n % 10 === 0;
  const when = isFar ? (farMonths[(n / 10) % farMonths.length] as number) : at - (n % 3) * 15 * 86_400_000;
  return {
    level: n % 4 === 0 ? 'WARN' : 'INFO',
    message: {
      timestamp: formatMicros(when * 1000 + n),
      action: [1001, 2000, 2001, 2010][n % 4],
      actor: n % 3 === 0 ? user : `user-${n % 50}@example.com`,
      target: `Target ${n % 20}`,
      sender: { file: `File ${n % 30}.pdf`, hash: `HASH-${n % 25}` },
      extra: { n, note: 'x'.repeat(n % 300) },
      ...(n % 5 === 0 ? { flow_id: flows[n % flows.length] } : {}),
    },
  };
}

async function textOf(body: ReadBody): Promise<string> {
  if ('flow' in body) return flowText(body.flow);
  const text = Buffer.from(body.bytes).toString('utf8');
  body.release();
  return text;
}

async function flowText(flow: ByteFlow): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of toReadable(flow)) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

const year = (from: number, to: number) => ({
  fromMicros: Date.UTC(from) * 1000,
  toMicros: Date.UTC(to) * 1000,
});
const filters: readonly AuditFilter[] = [
  {},
  year(2024, 2025),
  year(1970, 1988),
  year(2100, 2190),
  { actorEmail: user.email },
  { actorId: user.id, ...year(2023, 2025) },
  { name: 'file 7.pdf' },
  { name: 'target 3', fileHash: 'hash-3' },
  { flowId: flows[5] as string },
];

/** Everything that can be read of both organizations, as the bytes that a client gets. */
async function readsOf(storage: Storage): Promise<Record<string, string>> {
  const page = createPageReader(storage, envelope, () => 0);
  const exports = createExportReader(storage, envelope);
  const legacy = createLegacyReader(storage);
  const reads: Record<string, string> = {};
  for (const org of [acme, globex]) {
    for (const filter of org === acme ? filters : filters.slice(0, 2)) {
      const name = `${org} ${JSON.stringify(filter)}`;
      reads[`page ${name}`] = await textOf(await page(org, { filter, limit: 1000, offset: 0 }, never));
    }
    reads[`deep ${org}`] = await textOf(await page(org, { filter: {}, limit: 50, offset: 1_900 }, never));
    for (const format of exportFormats) {
      const filter = format === 'csv' ? {} : year(2024, 2026);
      const { stream, total } = await exports(org, { format, filter }, 0, never);
      reads[`${format} ${org}`] = `${total} ${await flowText(stream)}`;
    }
    const all = await legacy(org, { filter: {}, limit: undefined, offset: 0 }, never);
    reads[`source ${org}`] = await flowText(all);
    const owner = { id: user.id, email: user.email };
    const receipts = await createReceiptsReader(storage, () => undefined)(
      org,
      owner,
      { limit: 100, offset: 0 },
      never,
    );
    assert.ok(receipts.total > 0);
    reads[`receipts ${org}`] = JSON.stringify(receipts);
    reads[`feed ${org}`] = await feedOf(storage, org);
  }
  return reads;
}

async function feedOf(storage: Storage, org: string): Promise<string> {
  const feed = createFeedReader({
    storage,
    envelope,
    clock: () => 0,
    pool: new Ocsf110Pool({ vendorName: 'V', productName: 'P', appName: 'A' }, silentLog),
    cursors: createFeedCursors('a secret of the test'),
    watermark: async () => 2n ** 62n,
    arrivedBefore: () => undefined,
    retentionCutOff: () => undefined,
    queue: readQueue(),
    stopping: never,
  });
  let text = '';
  for (let cursor = ''; ; ) {
    const body = await textOf(
      await feed(org, { filter: {}, cursor, limit: 1000, waitSeconds: 0 }, AbortSignal.timeout(60_000)),
    );
    const { meta } = JSON.parse(body) as { meta: { next_cursor: string; has_more: boolean } };
    text += body;
    if (!meta.has_more) return text;
    cursor = meta.next_cursor;
  }
}

describe('an events table of the release before', () => {
  let engine: TestEngine;
  const opened: Storage[] = [];
  before(async () => {
    engine = await startTestEngine();
  });
  after(async () => {
    for (const storage of opened) await storage.close();
    await engine.stop();
  });

  const open = (database: string): Storage => {
    const storage = openStorage({ ...engine.connection, database }, silentLog);
    opened.push(storage);
    return storage;
  };
  /** A database as the earlier release left it, with events. */
  const oldDatabase = async (database: string, perMonth = 200): Promise<Storage> => {
    const storage = open(database);
    await migrateAsRelease010(storage);
    await fill(storage, perMonth);
    return storage;
  };
  /** What the file of the migration does before its step. */
  const createNewTable = async (storage: Storage) => {
    const [created] = await engine.storage.rows<{ sql: string }>(
      `SELECT create_table_query AS sql FROM system.tables WHERE database = 'audit' AND name = 'events'`,
    );
    await storage.command(String(created?.sql).replace('audit.events', 'events_by_ingest'));
    for (const column of columnsSince010)
      await storage.command(`ALTER TABLE events_by_ingest DROP COLUMN ${column}`);
  };
  const countOf = async (storage: Storage, table = 'events') => {
    const [row] = await storage.rows<{ n: string; seqs: string }>(
      `SELECT count() AS n, uniqExact(seq) AS seqs FROM ${table}`,
    );
    return { rows: Number(row?.n), different: Number(row?.seqs) };
  };
  const partitionsOf = async (storage: Storage): Promise<number[]> => {
    const rows = await storage.rows<{ id: string }>(
      'SELECT DISTINCT _partition_id AS id FROM events ORDER BY id',
    );
    return rows.map(({ id }) => Number(id));
  };
  const tablesOf = async (storage: Storage): Promise<string[]> => {
    const rows = await storage.rows<{ name: string; sql: string }>(
      `SELECT name, replaceAll(create_table_query, concat(' ', currentDatabase(), '.'), ' ') AS sql FROM system.tables
       WHERE database = currentDatabase() ORDER BY name`,
    );
    return rows.map(({ name, sql }) => `${name}: ${sql}`);
  };
  const whole = { rows: recordedMonths.length * 200, different: recordedMonths.length * 200 };

  it('is moved to partitions by the month of recording, and everything reads the same', async () => {
    const storage = await oldDatabase('upgraded', 400);
    assert.ok((await partitionsOf(storage)).includes(197306));
    const reads = await readsOf(storage);
    assert.ok((await migrate(storage, { log: silentLog })).applied.includes(file));
    assert.deepEqual(await partitionsOf(storage), recordedMonths);
    assert.deepEqual(await readsOf(storage), reads);
    assert.deepEqual(await migrate(storage, { log: silentLog }), { applied: [] });
    assert.deepEqual(await tablesOf(storage), await tablesOf(engine.storage), 'the schema of a new database');
    // A start that was cut short when all was moved, before that was recorded.
    await storage.command(`DELETE FROM schema_migrations WHERE name = '${file}'`);
    assert.ok((await migrate(storage, { log: silentLog })).applied.includes(file));
    assert.deepEqual(await tablesOf(storage), await tablesOf(engine.storage));
    assert.deepEqual(await readsOf(storage), reads);
    const { rows } = await countOf(storage);
    await fill(storage, 200);
    assert.equal((await countOf(storage)).rows, rows + whole.rows, 'and it takes new events');
  });

  it('is moved by whoever comes after a start that was cut short, wherever that was', async () => {
    for (const [name, interrupted] of Object.entries({
      copied_in_part_and_twice: async (storage: Storage) => {
        await storage.command('INSERT INTO events_by_ingest SELECT * FROM events WHERE seq % 3 = 0');
        await storage.command('INSERT INTO events_by_ingest SELECT * FROM events WHERE seq % 5 = 0');
      },
      exchanged_with_a_late_writer: async (storage: Storage) => {
        await storage.command('INSERT INTO events_by_ingest SELECT * FROM events WHERE seq % 100 != 7');
        await storage.command('EXCHANGE TABLES events AND events_by_ingest');
      },
      ...(skippedForLength === false && {
        exchanged: async (storage: Storage) => {
          await storage.command('INSERT INTO events_by_ingest SELECT * FROM events');
          await storage.command('EXCHANGE TABLES events AND events_by_ingest');
        },
      }),
    })) {
      const storage = await oldDatabase(name);
      await createNewTable(storage);
      await interrupted(storage);
      assert.ok((await migrate(storage, { log: silentLog })).applied.includes(file), name);
      assert.deepEqual(await countOf(storage), whole, name);
      assert.deepEqual(await partitionsOf(storage), recordedMonths, name);
      assert.deepEqual(await tablesOf(storage), await tablesOf(engine.storage), name);
    }
  });

  describe('on a disk', () => {
    let storage: Storage;

    it('stays as it is where the disk has no room for a copy', async () => {
      storage = await oldDatabase('no_room');
      const full: Storage = {
        ...storage,
        rows: async <T>(sql: string, parameters?: Record<string, unknown>) => {
          const rows = await storage.rows<T>(sql, parameters);
          return sql.includes('system.disks') ? rows.map((row) => ({ ...row, free: '4096' })) : rows;
        },
      };
      await assert.rejects(
        migrate(full, { log: silentLog }),
        /needs \d+ MB on .* where 1 MB are free; nothing/,
      );
      assert.deepEqual(await countOf(storage), whole);
      assert.equal((await countOf(storage, 'events_by_ingest')).rows, 0);
    });

    it('is copied again where the engine has cut a part short and not noticed', async () => {
      let cuts = 0;
      /** As a disk that is full in the midst of a month: the engine answers as if all had been written. */
      const cut = async (): Promise<void> => {
        const [part] = await storage.rows<{ path: string }>(
          `SELECT path FROM system.parts WHERE database = currentDatabase() AND table = 'events_by_ingest' AND active
           AND partition_id = '202407'`,
        );
        if (part === undefined || cuts > 0) return;
        cuts += 1;
        const file = join(part.path, 'data.bin');
        await truncate(file, (await stat(file)).size - 100);
      };
      const failing: Storage = {
        ...storage,
        command: async (sql, parameters, options) => {
          await storage.command(sql, parameters, options);
          if (sql.startsWith('INSERT INTO events_by_ingest')) await cut();
        },
      };
      await migrate(failing, { log: silentLog });
      assert.equal(cuts, 1);
      assert.deepEqual(await countOf(storage), whole);
      const [read] = await storage.rows<{ n: string }>(
        "SELECT countIf(startsWith(source, '{') AND endsWith(source, '}')) AS n FROM events",
      );
      assert.equal(read?.n, String(whole.rows));
    });
  });

  it('leaves behind what has expired, and keeps what has not', async () => {
    const storage = await oldDatabase('expiring');
    await storage.command('SYSTEM STOP MERGES events');
    const days = Math.round(Date.now() / 86_400_000);
    const at = Date.UTC(2025, 0, 1);
    const record = createRecorder(storage, { now: () => at, retentionDays: 10, without: columnsSince010 });
    const old = { message: { action: 1001, timestamp: at * 1000 } };
    const fresh = { message: { action: 1001, timestamp: (days - 8) * 86_400_000_000 } };
    await record(acme, [...Array.from({ length: 30 }, () => old), fresh, fresh]);
    assert.equal((await countOf(storage)).rows, whole.rows + 32);
    await migrate(storage, { log: silentLog });
    assert.equal((await countOf(storage)).rows, whole.rows + 2);
  });

  it('is not touched while another server writes to it', async () => {
    const storage = await oldDatabase('another_writer');
    await createNewTable(storage);
    const [own, other] = [randomUUID(), randomUUID()];
    const mode = { kind: 'shared', instance: own } as const;
    await publishWatermark(storage, own, 1);
    await publishWatermark(storage, other, 1);
    const options = { storage, cluster: undefined, log: silentLog, mode, quietMsMax: 300 };
    await assert.rejects(moveEvents(options), /other servers write to this database: stop all of them/);
    const migrating = migrate(storage, { log: silentLog, mode });
    await eventually('the claim', async () =>
      (await storage.rows('SELECT * FROM system.tables WHERE name = {n:String}', { n: 'migration_claims' }))
        .length > 0
        ? true
        : undefined,
    );
    await sleep(50);
    assert.notDeepEqual(await partitionsOf(storage), recordedMonths);
    await withdrawWatermark(storage, other);
    assert.ok((await migrating).applied.includes(file));
    assert.deepEqual(await countOf(storage), whole);
  });

  it('is moved by one of several servers that start at once; commands wait for it', async () => {
    const storage = await oldDatabase('at_once');
    const beside = migrate(open('at_once'), { log: silentLog, mode: { kind: 'follower' } });
    const among = [1, 2, 3].map(() =>
      migrate(open('at_once'), {
        log: silentLog,
        mode: { kind: 'shared', instance: randomUUID() },
      }),
    );
    const applied = (await Promise.all(among)).flatMap((result) => result.applied);
    assert.equal(applied.filter((name) => name === file).length, 1);
    assert.ok(!(await beside).applied.includes(file));
    assert.deepEqual(await countOf(storage), whole);
  });

  it('is not done again by one that looks while another comes to its end', async () => {
    const answers = [false, true];
    const mode = { kind: 'shared', instance: randomUUID() } as const;
    const isDone = async () => answers.shift() ?? true;
    const turn = { storage: open('audit'), cluster: undefined, log: silentLog, migration: file, isDone };
    await withMigrationClaim(mode, turn, () => assert.fail('done twice'));
    assert.deepEqual(answers, []);
  });

  it('is moved on every node of a cluster: each statement names it and can be parsed', async () => {
    const storage = await oldDatabase('on_cluster');
    const statements: string[] = [];
    const plain = (text: string) => text.replaceAll('_local', '').replaceAll(' ON CLUSTER `main`', '');
    // No cluster can be had here: what is meant for one is parsed, and done without its name.
    const cluster: Storage = {
      ...storage,
      rows: async <T>(sql: string, parameters: Record<string, unknown> = {}, options = {}) => {
        const bound = JSON.parse(plain(JSON.stringify(parameters))) as Record<string, unknown>;
        const rows = await storage.rows<T>(plain(sql), bound, options);
        return rows.map((row) =>
          'name' in Object(row) ? { ...row, name: `${Object(row).name}_local` } : row,
        );
      },
      command: async (sql, parameters, options) => {
        statements.push(sql);
        await storage.command(`EXPLAIN AST ${sql}`, parameters);
        if (!/^CREATE .*Distributed/s.test(sql)) await storage.command(plain(sql), parameters, options);
      },
    };
    await createNewTable(storage);
    await moveEvents({ storage: cluster, cluster: 'main', log: silentLog, mode: { kind: 'exclusive' } });
    assert.deepEqual(await countOf(storage), whole);
    for (const statement of statements) {
      if (!statement.startsWith('INSERT')) assert.match(statement, / ON CLUSTER `main`/);
    }
    assert.ok(
      statements.includes('EXCHANGE TABLES events_local AND events_by_ingest_local ON CLUSTER `main`'),
    );
    assert.ok(statements.includes('DROP TABLE IF EXISTS events_by_ingest ON CLUSTER `main`'));
    assert.ok(statements.includes('DROP TABLE IF EXISTS events_by_ingest_local ON CLUSTER `main`'));
  });
});
