import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { startTestEngine } from '../support/engine.ts';
import type { TestEngine } from '../support/engine.ts';
import { filterNames, filterOf } from '../../src/base/events/event-filters.ts';
import { segmentAtTime, segmentSeqRange } from '../../src/base/events/sequence.ts';
import { eventually } from '../support/http.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine();
});
after(async () => engine.stop());

const org = '11111111-1111-1111-1111-111111111111';
const rowsPerInsert = 20_000;

/** Inserts that overlap in time, so that merges interleave their rows. */
async function fill(inserts: number): Promise<void> {
  for (let insert = 0; insert < inserts; insert += 1) {
    await engine.storage.command(
      `INSERT INTO events SELECT {org:UUID}, toDateTime64('2025-01-01 00:00:00', 6, 'UTC') + number * 7,
        {insert:UInt64} * 1000000 + number, 1000 + number % 20, 'a', 'Informational', 'Success', 'INFO', 200,
        concat('user', toString(number % 500), '@x.test'), concat('id', toString(number)), [concat('f', toString(number))],
        [concat('h', toString(number))], '', '', toUUID(concat('22222222-2222-2222-2222-', leftPad(toString(intDiv(number, 3)), 12, '0'))),
        if(number % 4 = 0, toDate('2025-01-02'), toDate('2149-06-06')), false, 'x', 'y' FROM numbers({rows:UInt64})`,
      { org, insert, rows: rowsPerInsert },
    );
  }
}

const projectionSettings = {
  min_table_rows_to_use_projection_index: 0,
  max_projection_rows_to_use_projection_index: 10_000,
};

async function plan(where: string): Promise<string> {
  const sql = `EXPLAIN indexes = 1, projections = 1 SELECT ocsf FROM events
    WHERE org = {org:UUID} AND ${where} ORDER BY org DESC, time DESC, seq DESC LIMIT 1000`;
  const rows = await engine.storage.rows<{ explain: string }>(sql, { org }, { settings: projectionSettings });
  return rows.map((row) => row.explain).join('\n');
}

test('every filter has its column', async () => {
  const rows = await engine.storage.rows<{ name: string }>('DESCRIBE TABLE events');
  const columns = rows.map(({ name }) => name);
  for (const name of filterNames) assert.ok(columns.includes(filterOf(name).column), name);
});

test('events has the promised columns in their order', async () => {
  const rows = await engine.storage.rows<{ name: string; type: string }>('DESCRIBE TABLE events');
  assert.deepEqual(
    rows.map((row) => `${row.name} ${row.type}`),
    [
      'org UUID',
      "time DateTime64(6, 'UTC')",
      'seq UInt64',
      'activity_id Int64',
      'activity_name LowCardinality(String)',
      'severity LowCardinality(String)',
      'status LowCardinality(String)',
      'level LowCardinality(String)',
      'result_code Int64',
      'actor_email String',
      'actor_id String',
      'names Array(String)',
      'file_hash Array(String)',
      'file_name String',
      'target_name String',
      'flow_id UUID',
      'expires Date',
      'own Bool',
      'src_ip IPv6',
      'ocsf String',
      'source String',
      'event_hash FixedString(32)',
    ],
  );
});

test('filters use projections and skip indexes, and counts stay true through merges and removals', async () => {
  await fill(3);
  await engine.storage.command(
    'ALTER TABLE events DELETE WHERE expires < today() SETTINGS mutations_sync = 2',
  );
  await engine.storage.command('OPTIMIZE TABLE events FINAL');
  const [counted] = await engine.storage.rows<Record<'byRow' | 'expired', string>>(
    `SELECT (SELECT count() FROM events WHERE NOT ignore(seq)) AS byRow,
      (SELECT count() FROM events WHERE expires < today()) AS expired`,
  );
  const kept = String(3 * rowsPerInsert * 0.75);
  assert.deepEqual(counted, { byRow: kept, expired: '0' });
  for (const [projection, keys, seconds] of [
    ['counts', 'org', 600],
    ['actor_counts', 'org, actor_email', 3600],
    ['user_counts', 'org, actor_id, actor_email', 3600],
    ['name_counts', 'org, names[1], actor_email, actor_id', 3600],
    ['hash_counts', 'org, file_hash[1], actor_email, actor_id', 3600],
    ['second_counts', 'org, names[2]', 3600],
  ] as const) {
    const buckets = `SELECT ${keys}, intDiv(toUnixTimestamp64Micro(time), ${seconds * 1_000_000}) AS bucket, count() AS held FROM events GROUP BY ${keys}, bucket`;
    const [summed] = await engine.storage.rows<{ kept: string }>(
      `SELECT sum(held) AS kept FROM (${buckets})`,
    );
    assert.equal(summed?.kept, kept);
    const explained = await engine.storage.rows<{ explain: string }>(`EXPLAIN ${buckets}`);
    assert.match(explained.map((row) => row.explain).join('\n'), new RegExp(`\\(${projection}\\)`));
  }

  assert.match(
    await plan(`flow_id = '22222222-2222-2222-2222-000000000070'`),
    /Name: by_flow\s[^]*will be applied/,
  );
  assert.match(await plan(`actor_email = 'user7@x.test'`), /Name: by_actor\s[^]*will be applied/);
  assert.match(await plan(`actor_id = 'id1005'`), /Name: by_user\s[^]*will be applied/);
  assert.match(await plan('seq BETWEEN 1000100 AND 1000200'), /Name: by_seq\s[^]*will be applied/);
  assert.match(await plan(`has(names, 'f1005')`), /Name: names_rows/);
  assert.match(await plan(`has(file_hash, 'h1005')`), /Name: file_hash_rows/);
});

test('parts keep their range of time and of the order of ingest, so that reads pass over the others', async () => {
  const elsewhere = "time > '2031-01-01 00:00:00'";
  assert.match(await plan(elsewhere), /Min-Max[\s│]+Keys:[\s│]+time[\s│][^]*?Parts: 0\/1/);
  assert.match(await plan('seq > 9000000000000'), /Min-Max[\s│]+Keys:[\s│]+seq[\s│][^]*?Parts: 0\/1/);
  // Recorded in 2024 and in 2026: the month of `seq`, whatever the time.
  for (const ticks of [12_700_000_000, 19_000_000_000]) {
    const seq = String(BigInt(ticks) << 26n);
    const times = ['1970-01-01 00:00:00', '2199-12-31 23:59:59.999999'];
    const other = '44444444-4444-4444-4444-444444444444';
    const rows = times.map((time) => ({ org: other, time, seq, expires: '2149-06-06' }));
    await engine.storage.insertRows('events', rows);
    const found = await engine.storage.rows(
      'SELECT _partition_id AS id FROM events WHERE seq = {seq:UInt64}',
      { seq },
    );
    const id = new Date(Date.UTC(2020) + ticks * 10).toISOString().slice(0, 7).replace('-', '');
    assert.deepEqual(found, [{ id }, { id }]);
  }
});

test('rows found through a text index are the rows of the table, whatever the name, before and after a merge', async () => {
  // The longest is in a few rows only: it is about its length, and a hundred megabytes of it were most of the test's work.
  const longest = 'a'.repeat(100_000);
  const often = [
    'plain.txt',
    'with blanks and, commas',
    "quote ' and \\ backslash",
    'ünïcode 文件 \u{1f600}',
    'line\nbreak\tand\u0001control',
    '%_like_%',
    '.',
    ' ',
  ];
  const names = [...often, longest];
  const isLong = (n: number): boolean => n % 200 === 1;
  const odd = '33333333-3333-3333-3333-333333333333';
  for (let insert = 0; insert < 4; insert += 1) {
    await engine.storage.insertRows(
      'events',
      Array.from({ length: 1000 }, (_, n) => ({
        org: odd,
        time: `2025-03-01 00:00:0${insert}.${String(n).padStart(6, '0')}`,
        seq: String(9_000_000 + insert * 10_000 + n),
        names: n % 3 === 0 ? [] : [often[n % 7], isLong(n) ? longest : often[(n + insert) % often.length]],
        file_hash: [isLong(n) ? longest : often[n % often.length]],
        expires: '2149-06-06',
      })),
    );
  }
  const scan = { use_skip_indexes: 0, query_plan_direct_read_from_text_index: 0 };
  const compare = async () => {
    for (const column of ['names', 'file_hash']) {
      for (const name of [...names, 'absent', 'plain', 'with', 'a'.repeat(99_999)]) {
        const sql = `SELECT seq FROM events WHERE org = {odd:UUID} AND has(${column}, {name:String}) ORDER BY org DESC, time DESC, seq DESC`;
        const found = await engine.storage.rows(sql, { odd, name });
        const scanned = await engine.storage.rows(sql, { odd, name }, { settings: scan });
        assert.deepEqual(found, scanned, `${column} ${name.slice(0, 20)}`);
        if (names.includes(name)) assert.ok(found.length > 0);
      }
    }
  };
  await compare();
  await engine.storage.command('OPTIMIZE TABLE events FINAL');
  await compare();
});

/** Renderings with an address, or what looks like one, at each place where one can stand; a quotation mark in a text is escaped. */
const addresses = [
  [',"src_endpoint":{"ip":"203.0.113.9","port":1}', '::ffff:203.0.113.9'],
  [',"src_endpoint":{"ip":"2001:db8::1"},"enrichments":[{"value":"src_endpoint"}]', '2001:db8::1'],
  [`,"src_endpoint":{"ip":"${'0000:'.repeat(6)}203.0.113.255"}`, '::203.0.113.255'],
  [',"enrichments":[],"extra_map":{"a":{},"src_endpoint":{"ip":"203.0.113.9"}}', '::'],
  [String.raw`,"message":",\"src_endpoint\":{\"ip\":\"203.0.113.9\""`, '::'],
  [',"src_endpoint":{"port":1}', '::'],
  [',"src_endpoint":{"ip":"AWS Internal"}', '::'],
  [`,"src_endpoint":{"ip":"${'1'.repeat(255)}"}`, '::'],
  ['', '::'],
] as const;

test('the engine takes the address out of the rendering, and none out of texts and of what producers add', async () => {
  const other = '55555555-5555-5555-5555-555555555555';
  const rows = addresses.map(([ocsf], n) => ({
    org: other,
    time: '2025-06-01 00:00:00',
    seq: String(8_000_000 + n),
    ocsf: `"time":1${ocsf}`,
    expires: '2149-06-06',
  }));
  await engine.storage.insertRows('events', rows);
  const found = await engine.storage.rows<{ ip: string }>(
    'SELECT toString(src_ip) AS ip FROM events WHERE org = {other:UUID} ORDER BY seq',
    { other },
  );
  assert.deepEqual(
    found.map(({ ip }) => ip),
    addresses.map(([, ip]) => ip),
  );
});

test('merged parts are synced, and what they were merged from is kept until it was looked at, and no longer', async () => {
  for (const table of ['events', 'erasure_rows', 'journal']) {
    const [row] = await engine.storage.rows<{ sql: string }>(
      `SELECT engine_full AS sql FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`,
    );
    assert.match(row?.sql ?? '', /old_parts_lifetime = 120, max_cleanup_delay_period = 30/, table);
    assert.match(row?.sql ?? '', /fsync_after_insert = 1, fsync_part_directory = 1/, table);
    assert.match(row?.sql ?? '', /min_rows_to_fsync_after_merge = 1/, table);
  }
  const [inactive] = await engine.storage.rows<{ n: string }>(
    `SELECT count() AS n FROM system.parts WHERE database = currentDatabase() AND table = 'events' AND NOT active`,
  );
  assert.notEqual(inactive?.n, '0');
});

test('of the statements that have changed events only the last one stays on the disk', async () => {
  // Else the engine comes each half minute.
  await engine.storage.command(
    'ALTER TABLE events MODIFY SETTING cleanup_delay_period = 1, max_cleanup_delay_period = 1',
  );
  for (const text of ['first text', 'second text', 'third text'])
    await engine.storage.command(
      `ALTER TABLE events UPDATE source = {text:String} WHERE org = {org:UUID} AND seq = 1`,
      { org, text },
      { settings: { mutations_sync: 2 } },
    );
  await eventually(
    'the others to go',
    async () => {
      const rows = await engine.storage.rows<{ command: string }>(
        "SELECT command FROM system.mutations WHERE database = currentDatabase() AND table = 'events'",
      );
      return rows.length === 1 && rows[0]?.command.includes('third text') === true ? true : undefined;
    },
    30_000,
  );
});

/** With eight minutes of replaced parts, a thousand events a second made 137,000 files. */
const engineFilesMax = 50_000;

test('the engine’s folder has a bounded number of files, however long events come in', async () => {
  await engine.storage.command(
    `INSERT INTO events SELECT * REPLACE (seq + 7000000000 AS seq) FROM events LIMIT 500`,
  );
  const [newest] = await engine.storage.rows<{ path: string }>(
    `SELECT path FROM system.parts WHERE database = currentDatabase() AND table = 'events' AND active
      ORDER BY modification_time DESC, rows LIMIT 1`,
  );
  const entries = await readdir(newest?.path ?? '', { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).length;
  assert.ok(files > 0);
  const [table] = await engine.storage.rows<{ settings: string }>(
    `SELECT engine_full AS settings FROM system.tables WHERE database = currentDatabase() AND name = 'events'`,
  );
  const seconds = ['old_parts_lifetime', 'max_cleanup_delay_period'].map((name) =>
    Number(new RegExp(`${name} = (\\d+)`).exec(table?.settings ?? '')?.[1]),
  );
  const kept = seconds.reduce((sum, each) => sum + each, 0);
  const parts = (kept * 1000) / loadConfig({}).flushIntervalMs;
  assert.ok(parts * files < engineFilesMax, `${files} files a part, ${parts} parts are kept`);
});

test('new events are compressed by LZ4, and merges of older ones write ZSTD', async () => {
  await engine.storage.command('TRUNCATE TABLE events');
  const ages = [600_000, 0].map((ms) => segmentAtTime(Date.now() - ms));
  const codecs = async (): Promise<string[]> => {
    const rows = await engine.storage.rows<{ codec: string }>(
      `SELECT default_compression_codec AS codec FROM system.parts
       WHERE database = currentDatabase() AND table = 'events' AND active ORDER BY min_block_number`,
    );
    return rows.map(({ codec }) => codec);
  };
  for (const [turn, segment] of ages.entries()) {
    const { first } = segmentSeqRange(segment);
    await engine.storage.command('SYSTEM STOP MERGES events');
    for (const more of [0, 100])
      await engine.storage.command(
        `INSERT INTO events (org, time, seq, ocsf, source)
         SELECT {org:UUID}, now64(6), {first:UInt64} + {more:UInt64} + number, 'x', 'y' FROM numbers(100)`,
        { org, first, more },
      );
    const inserted = await codecs();
    await engine.storage.command('SYSTEM START MERGES events');
    await engine.storage.command('OPTIMIZE TABLE events FINAL');
    const merged = turn === 0 ? ['ZSTD(1)'] : ['LZ4'];
    assert.deepEqual([new Set(inserted), await codecs()], [new Set(['LZ4']), merged]);
    await engine.storage.command('TRUNCATE TABLE events');
  }
});
