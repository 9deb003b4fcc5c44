import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { formatMicros } from '../../src/base/timestamp.ts';
import type { CliDeps } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import { targetOf } from '../../src/cli/migrate-data/options.ts';
import { settingsFor } from '../../src/cli/migrate-data/report.ts';
import { loadConfig } from '../../src/config/config.ts';
import { makeAuthority } from '../support/certificates.ts';
import { DataMove, endOfOrder } from '../../src/cli/migrate-data/move.ts';
import { MoveRecords } from '../../src/cli/migrate-data/record.ts';
import { leftTables, eventsTable, otherTables } from '../../src/cli/migrate-data/tables.ts';
import { eraseUser } from '../../src/control/users.ts';
import { beginErasure, carryOutErasure, planEvents, type StoredErasure } from '../../src/control/erasure.ts';
import { beginDeletion, carryOutDeletion, previewDeletion } from '../../src/control/deletion.ts';
import { eventHashNow } from '../../src/storage/event-hash.ts';
import { EventRemoval } from '../../src/storage/removal.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { withdrawWatermark } from '../../src/storage/watermarks.ts';
import { createRecorder } from '../read/support.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { type CliAnswer, printed, runCliHere } from '../support/server.ts';

/** The command between two engines, neither of which has a server. */
const [acme, globex, far] = [randomUUID(), randomUUID(), randomUUID()];
const months = [202312, 202401, 202511];
const perMonth = 400;
const perMonthOfGlobex = 200;

interface Report {
  readonly state: string;
  readonly healthy: boolean;
  readonly copied: number;
  readonly left: number;
  readonly events: number;
  readonly organizations: number;
  readonly findings: readonly { kind: string; table: string; month?: string; organization?: string }[];
  readonly settings: Readonly<Record<string, string>>;
}

let source: TestEngine;
let engine: PlainEngine;
before(async () => {
  [source, engine] = await Promise.all([startTestEngine(), startPlainEngine()]);
  await fill(source.storage);
});
after(() => Promise.all([source?.stop(), engine?.stop()]));

async function fill(storage: Storage): Promise<void> {
  const organization = (id: string, slug: string) => {
    const created_at = '2023-01-01 00:00:00';
    return { id, slug, name: slug, receipts: 'own', created_at, version: '1' };
  };
  await storage.insertRows('organizations', [organization(acme, 'acme'), organization(globex, 'globex')]);
  await storage.insertRows('organizations', [
    { ...organization(acme, 'acme'), name: 'Acme & Co', version: '2' },
  ]);
  let at = 0;
  const record = createRecorder(storage, { now: () => at });
  for (const month of months) {
    at = Date.UTC(Math.floor(month / 100), (month % 100) - 1, 20);
    const events = Array.from({ length: perMonth }, (_, n) => eventOf(n, at));
    await record(acme, events);
    await record(globex, events.slice(0, perMonthOfGlobex));
  }
  await record(far, [eventOf(1, Date.UTC(1973, 5)), eventOf(2, Date.UTC(2199, 5))]);
  // The day that it was recorded to go on has passed, and no policy ends it.
  const expired = createRecorder(storage, { now: () => Date.UTC(2024, 0, 2), retentionDays: 30 });
  await expired(globex, [eventOf(3, Date.UTC(2024, 0, 1))]);
  const tile = (level: number, width: number) => ({
    org: acme,
    level,
    tile: 0,
    width,
    content: 'é\u0001"\\'.repeat(width),
  });
  await storage.insertRows('evidence_tiles', [tile(0, 7), tile(0, 9), tile(1, 2)]);
  await storage.insertRows('api_key_uses', [{ id: 'abc', used_at: '2024-01-01 00:00:00.123456' }]);
}

function eventOf(n: number, at: number): object {
  return {
    level: n % 4 === 0 ? 'WARN' : 'INFO',
    message: {
      timestamp: formatMicros((at - (n % 3) * 86_400_000) * 1000 + n),
      action: [1001, 2000, 2001, 2010][n % 4],
      actor: `user-${n % 50}@example.com`,
      sender: { file: `File ${n % 30}.pdf`, hash: `HASH-${n % 25}` },
      extra: { n, note: `é\t${'x'.repeat(n % 300)}` },
    },
  };
}

async function keptOf(org: string): Promise<string[]> {
  const rows = await source.storage.rows<{ seq: string }>(
    'SELECT toString(seq) AS seq FROM events WHERE org = {org:UUID}',
    { org },
  );
  return rows.map(({ seq }) => seq);
}

/** An erasure that has begun, of one event. */
async function erasing(org: string, seq: bigint): Promise<StoredErasure> {
  const { storage } = source;
  const [row] = await storage.rows<{ before: string }>(
    `SELECT lower(hex(${eventHashNow})) AS before FROM events WHERE org = {org:UUID} AND seq = toUInt64({seq:String})`,
    { org, seq: String(seq) },
  );
  const erased = '{"erased":true}';
  const texts = { activityName: 'a', actorEmail: 'e', actorId: '', names: ['n'], fileHash: [], ocsf: '' };
  const erasure = {
    id: randomUUID(),
    organizationId: org,
    pseudonym: 'erased-1',
    operator: 'op',
    events: 1,
    digest: '',
    account: org,
    startedMicros: 1,
    finishedMicros: undefined,
    version: 1,
  };
  const event = { seq, before: row?.before ?? '', ...texts, source: erased };
  await planEvents(storage, erasure, [event]);
  await beginErasure(storage, erasure);
  return erasure;
}

const run = (args: readonly string[], to = engine.url): Promise<CliAnswer> =>
  runCliHere(['migrate-data', '--to', to, '--to-user', engine.user, '--json', ...args], {
    dataDir: source.dataDir,
    env: { CLICKHOUSE_TO_PASSWORD: engine.password },
  });

async function moved(database: string, ...args: string[]): Promise<Report> {
  return printed(await run(['--to-database', database, ...args])) as Report;
}

async function refused(database: string, ...args: string[]): Promise<Report & { stderr: string }> {
  const { code, stdout, stderr } = await run(['--to-database', database, ...args]);
  assert.equal(code, 1, stderr);
  return { ...(JSON.parse(stdout || '{}') as Report), stderr };
}

async function at<T>(database: string, work: (storage: Storage) => Promise<T>): Promise<T> {
  const { url, user, password } = engine;
  const storage = openStorage({ url, user, password, database, headers: {} }, silentLog);
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}

/** Every row of every table that is moved, as text. */
async function contents(storage: Storage): Promise<Record<string, unknown[]>> {
  const tables = [eventsTable, ...otherTables].map(async ({ name, columns, key, isReplacing }) => {
    const order = key.map((column) => column.name).join(', ');
    const rows = await storage.rows(
      `SELECT ${columns.join(', ')} FROM ${name} ${isReplacing ? 'FINAL' : ''} ORDER BY ${order}`,
    );
    return [name, rows] as const;
  });
  return Object.fromEntries(await Promise.all(tables));
}

const all = months.length * (perMonth + perMonthOfGlobex) + 3;

test('every table of the schema is moved with all its columns, or named with the reason why it is not', async () => {
  const rows = await source.storage.rows<{ table: string; names: string[] }>(
    `SELECT table, groupArray(name) AS names FROM system.columns
     WHERE database = currentDatabase() AND default_kind != 'MATERIALIZED'
       AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')
     GROUP BY table ORDER BY table`,
  );
  const byTable = new Map([eventsTable, ...otherTables].map((table) => [table.name, table]));
  for (const { table, names } of rows) {
    if (table in leftTables) continue;
    const columns = byTable.get(table)?.columns ?? [];
    assert.deepEqual([...columns].sort(), names.filter((name) => name !== 'written').sort(), table);
    const sorted = await source.storage.rows<{ sorting_key: string }>(
      'SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
      { table },
    );
    assert.equal(
      byTable
        .get(table)
        ?.key.map(({ name }) => name)
        .join(', '),
      sorted[0]?.sorting_key,
      table,
    );
  }
  assert.equal(rows.filter(({ table }) => !(table in leftTables)).length, byTable.size);
});

describe('a move', () => {
  test('copies all there is, once, and a second run finds nothing to do', async () => {
    assert.match((await refused('first', '--verify')).stderr, /nothing has been moved there yet/);
    const report = await moved('first');
    assert.deepEqual(
      [report.state, report.copied, report.events, report.organizations],
      ['copied', all, all, 3],
    );
    assert.deepEqual(await at('first', contents), await contents(source.storage));
    assert.equal((await moved('first')).copied, 0);
    assert.equal((await moved('first', '--verify')).healthy, true);
  });

  test('asks for the password at a terminal, and draws a bar there', async () => {
    const typed = new PassThrough();
    const input = Object.assign(typed, { isTTY: true, setRawMode: () => {} });
    let shown = '';
    let printedText = '';
    const error = (text: string): void => {
      shown += text;
      if (text.endsWith(': ')) setImmediate(() => typed.write(`${engine.password}\r`));
    };
    const unused = () => Promise.reject(new Error('not for this command'));
    const code = await runCli(
      ['migrate-data', '--to', engine.url, '--to-user', engine.user, '--to-database', 'first', '--verify'],
      {
        environment: { DATA_DIR: source.dataDir },
        io: {
          out: (text) => (printedText += text),
          error,
          errorIsTerminal: true,
          output: process.stdout,
          input,
        },
        recordEvents: unused,
        eventEnvelope: () => ({ head: '', tail: '' }),
        startService: unused,
        startProcesses: unused,
        untilStopped: unused,
      },
    );
    assert.equal(code, 0, shown);
    assert.equal(printedText, `verified: ${all} events of 3 organizations are the same on both sides\n`);
    assert.match(shown, /^Password of audit at http:.* \(Enter for none\): \n/);
    assert.match(shown, /\[#+\.*\] [\d.]+% \d+ events compared/);
    assert.ok(!shown.includes(engine.password));
  });

  test('brings what is absent, and only that: late events, and what a copy that was cut short has left out', async () => {
    await at('first', (storage) =>
      storage.command(
        'ALTER TABLE events DELETE WHERE cityHash64(seq) % 3 = 0 AND org = {acme:UUID}',
        { acme },
        { settings: { mutations_sync: 1 } },
      ),
    );
    const { findings, stderr } = await refused('first', '--verify');
    assert.match(stderr, /do not have the same/);
    assert.deepEqual(
      findings.map(({ kind, organization, month }) => [kind, organization, month]),
      ['2023-12', '2024-01', '2025-11'].map((month) => ['missing', 'acme', month]),
    );
    await createRecorder(source.storage, { now: () => Date.UTC(2024, 5, 5) })(globex, [
      eventOf(7, Date.UTC(2024, 5, 5)),
    ]);
    assert.ok((await moved('first')).copied > perMonth / 2);
    assert.deepEqual(await at('first', contents), await contents(source.storage));
  });

  test('a row that was changed at the target is found, and so are rows that are too many', async () => {
    const change = (sql: string) =>
      at('first', (storage) => storage.command(sql, { globex }, { settings: { mutations_sync: 1 } }));
    const one = `org = {globex:UUID} AND seq = (SELECT min(seq) FROM events WHERE org = {globex:UUID})`;
    await change(
      `ALTER TABLE events UPDATE source = replaceOne(source, 'INFO', 'info') WHERE ${one.replace('min', 'max')}`,
    );
    await change(
      `INSERT INTO events SELECT * REPLACE (seq + 100000 AS seq) FROM (SELECT * FROM events WHERE ${one})`,
    );
    const { findings } = await refused('first', '--finish');
    assert.deepEqual(
      findings.map(({ kind, organization, month }) => [kind, organization, month]),
      [
        ['added', 'globex', '2023-12'],
        ['altered', 'globex', '2025-11'],
      ],
    );
  });

  test('finishes in one run, says what to set, and is not begun again', async () => {
    const report = await moved('second', '--finish');
    assert.deepEqual([report.state, report.healthy, report.events], ['finished', true, all + 1]);
    const settings = {
      CLICKHOUSE_URL: engine.url,
      CLICKHOUSE_USER: engine.user,
      CLICKHOUSE_DATABASE: 'second',
    };
    assert.deepEqual(report.settings, settings);
    assert.deepEqual(await at('second', contents), await contents(source.storage));
    assert.deepEqual((await moved('second', '--finish')).settings, settings);
    assert.match((await refused('second')).stderr, /this move is finished/);
    // What servers store at the target afterwards is no difference.
    await at('second', (storage) => createRecorder(storage)(globex, [eventOf(8, Date.now())]));
    assert.equal((await moved('second', '--verify')).healthy, true);
  });

  test('goes on by itself after the target was killed under it', async () => {
    const running = moved('third', '--finish');
    await eventually('events at the target', () =>
      at('third', async (storage) => {
        const [row] = await storage.rows<{ n: string }>('SELECT count() AS n FROM events').catch(() => []);
        return row !== undefined && row.n !== '0' ? true : undefined;
      }),
    );
    await engine.kill();
    await engine.start();
    assert.equal((await running).healthy, true);
    assert.deepEqual(await at('third', contents), await contents(source.storage));
  });

  test('moves from a server too, with what a stopped one has promised to send', async () => {
    const dead = randomUUID();
    const alive = randomUUID();
    const promise = (writer: string, written: string) =>
      `INSERT INTO watermarks SELECT '${writer}', 123456789, now64(3) + INTERVAL 1 YEAR, 1, ${written}`;
    await at('second', (storage) => storage.command(promise(dead, 'now() - INTERVAL 1 HOUR')));
    await at('second', (storage) => storage.command(promise(alive, 'now()')));
    const env = { ...engine.env, CLICKHOUSE_DATABASE: 'second', CLICKHOUSE_TO_PASSWORD: engine.password };
    const args = [
      '--to',
      engine.url,
      '--to-user',
      engine.user,
      '--to-database',
      'fourth',
      '--finish',
      '--json',
    ];
    let isEnded = false;
    const running = runCliHere(['migrate-data', ...args], { dataDir: source.dataDir, env });
    void running.finally(() => (isEnded = true));
    await eventually('the move to wait for the server', () =>
      at('fourth', (storage) => storage.rows('SELECT 1 FROM data_moves')).then(
        ([row]) => row && true,
        () => undefined,
      ),
    );
    assert.equal(isEnded, false);
    await at('second', (storage) => withdrawWatermark(storage, alive));
    const report = printed(await running) as Report;
    assert.deepEqual(
      [report.state, report.healthy, report.settings['CLICKHOUSE_DATABASE']],
      ['finished', true, 'fourth'],
    );
    assert.deepEqual(await at('fourth', contents), await at('second', contents));
    const rows = await at('fourth', (storage) => storage.rows('SELECT writer, low FROM watermarks FINAL'));
    assert.deepEqual(rows, [{ writer: dead, low: '123456789' }]);
  });

  test('compares once more when the day ends under it, with which rows may go', async () => {
    const days = [
      '2000-01-01',
      '2000-01-01',
      '2000-01-02',
      '2000-01-02',
      '2000-01-02',
      '2000-01-02',
      '2000-01-02',
      '2000-01-02',
    ];
    const asked: string[] = [];
    const rows: Storage['rows'] = async (query, parameters, options) => {
      const found = await source.storage.rows<object>(query, parameters, options);
      if (!query.includes('today()')) return found as never;
      const day = days.shift() ?? '';
      asked.push(day);
      return [{ day }] as never;
    };
    const storage = { ...source.storage, rows };
    const records = await MoveRecords.open(source.storage, undefined);
    const record = { id: randomUUID(), state: 'copying', through: 0n } as const;
    const io = { error: () => {} };
    const move = new DataMove({ source: storage, target: storage, records, record, io });
    assert.deepEqual(await move.differences(endOfOrder, true), []);
    // Both sides before and after, and once more both.
    assert.deepEqual(asked, ['2000-01-01', '2000-01-01', ...Array<string>(6).fill('2000-01-02')]);
  });

  test('removes at the target what was removed from the source after it was copied, and nothing else', async () => {
    const { storage } = source;
    const [shorter, leaving] = [randomUUID(), randomUUID()];
    const created = { name: 'x', receipts: 'own', created_at: '2023-01-01 00:00:00', version: '1' };
    await storage.insertRows('organizations', [
      { ...created, id: shorter, slug: 'shorter' },
      { ...created, id: leaving, slug: 'leaving' },
    ]);
    const day = Date.UTC(2024, 6, 1);
    const record = createRecorder(storage, { now: () => day });
    for (const id of [shorter, leaving])
      await record(
        id,
        [1, 2, 3, 4].map((n) => eventOf(n, day - n * 86_400_000)),
      );
    await storage.insertRows('evidence_checkpoints', [{ org: leaving, size: 4, note: 'n' }]);
    const person = { id: shorter, org: shorter, version: '1' };
    await storage.insertRows('users', [{ ...person, email: 'a@b.example', email_lower: 'a@b.example' }]);
    await storage.insertRows('user_identities', [{ ...person, external_id: 'a@b.example' }]);
    await moved('fifth');
    // Two that a policy has ended, and a policy of now by which they would have stayed.
    const removal = new EventRemoval(storage);
    const over = { organization: shorter, beforeMicros: (day - 2.5 * 86_400_000) * 1000 };
    const plan = await removal.plan(over, 2n ** 62n);
    assert.ok(plan);
    await removal.carryOut([plan]);
    // A plan that a hold has stopped.
    const held = await removal.plan({ ...over, beforeMicros: day * 1000 }, 2n ** 62n);
    assert.ok(held);
    await removal.finish(held);
    await storage.insertRows('retention_policies', [{ id: shorter, hold_reason: '', version: '1' }]);
    const preview = await previewDeletion(storage, 'leaving', 'op');
    await beginDeletion(storage, preview, 4);
    await carryOutDeletion(storage, removal, preview.deletion, day * 1000);
    // A person who is erased from the one that stays.
    const [seq = ''] = await keptOf(shorter);
    const erasure = await erasing(shorter, BigInt(seq));
    assert.match((await refused('fifth', '--finish')).stderr, /a server has not finished an erasure/);
    assert.notEqual(await carryOutErasure(storage, erasure, day * 1000), 'held');
    await eraseUser(storage, erasure.account, erasure.pseudonym);
    // What somebody else has put there stays, and is told.
    const add = `INSERT INTO events SELECT * REPLACE (seq + 100000 AS seq) FROM events WHERE org = {shorter:UUID} ORDER BY time DESC LIMIT 1`;
    await at('fifth', (target) => target.command(add, { shorter }));
    const { findings } = await refused('fifth', '--finish');
    assert.deepEqual(
      findings.map(({ kind, organization }) => [kind, organization]),
      [['added', 'shorter']],
    );
    const kept = await keptOf(shorter);
    assert.equal(kept.length, 1, 'three were removed');
    await at('fifth', (target) =>
      target.command(
        `ALTER TABLE events DELETE WHERE org = {shorter:UUID} AND seq NOT IN (${kept.join(', ')})`,
        { shorter },
        { settings: { mutations_sync: 2 } },
      ),
    );
    assert.equal((await moved('fifth', '--finish')).healthy, true);
    assert.deepEqual(await at('fifth', contents), await contents(storage));
    const before = await at('fifth', (target) =>
      target.rows(`SELECT 1 FROM users WHERE email = 'a@b.example'`),
    );
    assert.deepEqual(before, [], 'nor is the login of the person who was erased');
    const left = await at('fifth', (target) =>
      target.rows('SELECT count() AS n FROM events WHERE org IN {orgs:Array(UUID)}', {
        orgs: [shorter, leaving],
      }),
    );
    assert.deepEqual(left, [{ n: String(kept.length) }]);
  });

  test('refuses a target with other data, and names whose it is', async () => {
    await at('fifth', (storage) => storage.command('TRUNCATE TABLE data_moves'));
    assert.match(
      (await refused('fifth')).stderr,
      /organizations acme, globex, shorter; of these are here, too: acme, globex, shorter/,
    );
  });

  test('shows a target behind TLS what it is given, and names the files for the server', async (t) => {
    const authority = await makeAuthority(source.dataDir);
    if (authority === undefined) return t.skip('needs openssl');
    const { certFile, keyFile, cert, key } = authority;
    const options = {
      to: 'https://127.0.0.1:9',
      toUser: 'ann',
      toCa: certFile,
      toCert: certFile,
      toKey: keyFile,
    };
    const deps = { environment: { CLICKHOUSE_TO_PASSWORD: 'x' } } as unknown as CliDeps;
    const target = await targetOf(deps, { ...options, toCluster: 'c1' }, loadConfig({}));
    assert.deepEqual(target.connection.tls, { ca: cert, cert, key });
    assert.deepEqual(settingsFor(target), {
      CLICKHOUSE_URL: 'https://127.0.0.1:9',
      CLICKHOUSE_USER: 'ann',
      CLICKHOUSE_DATABASE: 'audit',
      CLICKHOUSE_CLUSTER: 'c1',
      CLICKHOUSE_CA: certFile,
      CLICKHOUSE_CERT: certFile,
      CLICKHOUSE_KEY: keyFile,
    });
    await assert.rejects(
      targetOf(deps, { ...options, toKey: certFile }, loadConfig({})),
      /--to-key: allowed is the path/,
    );
  });

  test('wrong usage ends with 2 and says what is allowed', async () => {
    for (const [args, words] of [
      [['--finish', '--verify'], /--finish or --verify/],
      [['--to-database', 'a b'], /--to-database/],
      [['--to-key', '/etc/hostname'], /--to-key/],
    ] as const) {
      const { code, stderr } = await run(args);
      assert.equal(code, 2);
      assert.match(stderr, words);
    }
    assert.equal((await run([], 'http://user:secret@127.0.0.1')).code, 2);
    const { code, stderr } = await run([], 'http://127.0.0.1:9');
    assert.equal(code, 1);
    assert.match(stderr, /http:\/\/127.0.0.1:9 \(--to\) does not answer/);
  });
});
