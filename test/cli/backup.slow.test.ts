import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import { type Snapshot, newIn } from '../../src/backup/snapshot.ts';
import { limits } from '../../src/backup/limits.ts';
import { latestText, type Manifest, sha256Of } from '../../src/backup/manifest.ts';
import { eventsTable, otherTables } from '../../src/backup/tables.ts';
import { eventHashNow } from '../../src/storage/event-hash.ts';
import { allTimeMicros, EventRemoval } from '../../src/storage/removal.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { beginErasure, carryOutErasure, planEvents, type StoredErasure } from '../../src/control/erasure.ts';
import { placeHold, releaseHold } from '../../src/control/retention.ts';
import { createRecorder } from '../read/support.ts';
import { cliCommand } from '../support/cli-command.ts';
import { inEngineOf, startTestEngine, type TestEngine } from '../support/engine.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { rounds } from '../support/rounds.ts';
import { type Bucket, s3Environment, startBucket } from '../support/s3.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { eventually } from '../support/http.ts';
import { type CliAnswer, printed, runCli, runCliHere } from '../support/server.ts';

/** Backups of an engine that no server uses, into one place after the other. */
const [acme, globex] = [randomUUID(), randomUUID()];
const months = [202312, 202401];
const perMonth = 300;
const allEvents = months.length * (perMonth + 100);

interface Backup {
  readonly id: string;
  readonly base: string | null;
  readonly added: number;
  readonly events: number;
  readonly notes: readonly string[];
}

let source: TestEngine;
/** Directories of this file, one below the other. */
let root: string;
before(async () => {
  [source, root] = await Promise.all([startTestEngine(), temporaryDirectory()]);
  await fill(source.storage);
});
after(async () => {
  await source?.stop();
  if (root !== undefined) await removeDirectory(root);
});

async function fill(storage: Storage): Promise<void> {
  const organization = (id: string, slug: string) => {
    const created_at = '2023-01-01 00:00:00';
    return { id, slug, name: slug, receipts: 'own', created_at, version: '1' };
  };
  await storage.insertRows('organizations', [organization(acme, 'acme'), organization(globex, 'globex')]);
  for (const month of months) await recordIn(storage, month, perMonth);
  const tile = (level: number, number: number, width: number) => {
    const last_seq = level === 0 ? '5000' : '0';
    return { org: acme, level, tile: number, width, last_seq, content: 'é\u0001"\\'.repeat(width) };
  };
  await storage.insertRows('evidence_tiles', [tile(0, 0, 7), tile(0, 0, 9), tile(1, 0, 2)]);
  const at = '2024-01-01 00:00:00.123456';
  await storage.insertRows('api_key_uses', [{ id: 'abc', used_at: at }]);
  const policy = { days: 30, held_at: null, hold_reason: '', version: '1' };
  await storage.insertRows('retention_policies', [
    { ...policy, id: acme, days: null },
    { ...policy, id: globex, held_at: at, hold_reason: 'a lawsuit' },
  ]);
}

/** Events of both organizations, whose days are over: one keeps everything by now, and one is held. */
async function recordIn(storage: Storage, month: number, count: number): Promise<void> {
  const now =
    Date.UTC(Math.floor(month / 100), (month % 100) - 1, 20) + Math.floor(Math.random() * 86_400_000);
  const events = Array.from({ length: count }, (_, n) => ({
    level: n % 4 === 0 ? 'WARN' : 'INFO',
    message: {
      timestamp: formatMicros((now - (n % 3) * 86_400_000) * 1000),
      action: [1001, 2000, 2010][n % 3],
      actor: `user-${n % 50}@example.com`,
      sender: { file: `File ${n % 30}.pdf`, hash: `HASH-${n % 25}` },
      extra: { n, note: `é\t${'x'.repeat(n % 300)}` },
    },
  }));
  const record = createRecorder(storage, { now: () => now, retentionDays: 30 });
  await record(acme, events);
  await record(globex, events.slice(0, count / 3));
}

/** Every row of every table that is backed up, as text; without what a restore records. */
async function contents(storage: Storage): Promise<Record<string, unknown[]>> {
  const tables = [eventsTable, ...otherTables].map(async ({ name, columns }) => {
    const rows = await storage.rows(
      `SELECT ${columns.join(', ')} FROM ${name} ${name === 'events' ? 'WHERE activity_id != 2113' : 'FINAL'}
       ORDER BY ${columns.join(', ')}`,
    );
    return [name, rows] as const;
  });
  return Object.fromEntries(await Promise.all(tables));
}

const backUp = (...args: string[]): Promise<CliAnswer> =>
  runCliHere(['backup', ...args], { dataDir: source.dataDir, env: s3Environment });
const restore = (dataDir: string, ...args: string[]): Promise<CliAnswer> =>
  runCliHere(['restore', ...args], { dataDir, env: s3Environment });

async function taken(place: string, ...args: string[]): Promise<Backup> {
  return printed(await backUp('--to', place, '--json', ...args)) as Backup;
}

function refused(answer: CliAnswer, words: RegExp, code = 1): void {
  assert.equal(answer.code, code, answer.stdout);
  assert.match(answer.stderr, words);
}

test('each increment of random snapshots has what the ones before it have not, once', async () => {
  const segment = fc.nat(400);
  const step = fc.record({
    advance: fc.array(fc.nat(150), { minLength: 3, maxLength: 3 }),
    held: fc.array(segment),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      const chain: Snapshot[] = [];
      const ends = [0, 0, 0];
      const isIn = ({ writers, others, without }: Snapshot, one: number): boolean => {
        const end = writers.find(([writer]) => writer === one % 64)?.[1] ?? others;
        return one <= end && !without.includes(one);
      };
      for (const { advance, held } of steps) {
        for (const [n, by] of advance.entries()) ends[n] = (ends[n] ?? 0) + by;
        const before = chain.at(-1);
        // What was in the table before is in no log any more.
        const without = held.filter((one) => before === undefined || !isIn(before, one));
        chain.push({
          writers: [
            [0, ends[0] ?? 0],
            [63, ends[1] ?? 0],
          ],
          others: ends[2] ?? 0,
          without,
        });
      }
      const rows = Array.from({ length: 900 }, (_, one) => BigInt(one) * 2n ** 20n + 5n);
      const found: string[] = [];
      for (const [n, snapshot] of chain.entries()) {
        const { where, parameters } = newIn(snapshot, chain[n - 1]);
        const some = await source.storage.rows<{ seq: string }>(
          `SELECT seq FROM (SELECT arrayJoin({rows:Array(UInt64)}) AS seq) WHERE ${where}`,
          { ...parameters, rows },
        );
        found.push(...some.map(({ seq }) => seq));
      }
      const last = chain.at(-1);
      const expected = rows.filter((_, one) => last !== undefined && isIn(last, one)).map(String);
      assert.deepEqual(found.toSorted(), expected.toSorted());
    }),
    { numRuns: rounds(6, 500) },
  );
});

describe('in a directory', () => {
  test('everything comes back as it was, from one backup and from several on top of each other, and a restore goes on', async () => {
    const place = join(root, 'chain');
    const first = await taken(place);
    assert.deepEqual([first.base, first.added, first.events], [null, allEvents, allEvents]);
    await recordIn(source.storage, 202511, 30);
    // A tile that has grown, and a full one above it.
    const grown = { org: acme, level: 0, tile: 0, width: 12, last_seq: '9000', content: 'grown' };
    await source.storage.insertRows('evidence_tiles', [grown]);
    const second = await taken(place);
    assert.deepEqual([second.base, second.added, second.events], [first.id, 40, allEvents + 40]);
    assert.equal((await taken(place)).added, 0);

    const whole = join(root, 'whole');
    const report = printed(await restore(whole, '--from', place, '--json')) as Backup;
    assert.equal(report.events, allEvents + 40);
    assert.match(report.notes.join(), /session-secret is not there/);
    // What a run that was killed leaves: slices that are there, absent, or there in part.
    await inEngineOf(whole, async (storage) => {
      assert.deepEqual(await contents(storage), await contents(source.storage));
      const over = await storage.rows(
        'SELECT toString(count()) AS events FROM events WHERE expires < today()',
      );
      assert.deepEqual(over, [{ events: String(allEvents + 40) }]);
      const newest = 'bitShiftRight(seq, 20) = (SELECT max(bitShiftRight(seq, 20)) FROM events)';
      const settings = { mutations_sync: 1 };
      const query = `ALTER TABLE events DELETE WHERE intDiv(seq, 3) % 2 = 0 OR ${newest}`;
      await storage.command(query, {}, { settings });
    });
    await writeFile(join(whole, 'restoring'), report.id);
    refused(
      await restore(whole, '--from', place, '--backup', first.id),
      /has begun to restore .*: go on with that/,
    );
    printed(await restore(whole, '--from', place, '--json'));
    assert.equal((await taken(place, '--full')).base, null);
    await inEngineOf(whole, async (storage) => {
      assert.deepEqual(await contents(storage), await contents(source.storage));
      const again = await runCliHere(['backup', '--to', place, '--json'], { dataDir: whole });
      assert.match((printed(again) as Backup).notes.join(), /of another database: this one stands alone/);
    });
  });

  test('what was removed since an earlier backup still counts, as a restore brings it back', async () => {
    const place = join(root, 'removed');
    await recordIn(source.storage, 202512, 30);
    const { events } = await taken(place);
    const settings = { mutations_sync: 2 };
    const removed = 'ALTER TABLE events DELETE WHERE expires BETWEEN {from:Date} AND {to:Date}';
    const days = { from: '2026-01-15', to: '2026-02-01' };
    await source.storage.command(removed, days, { settings });
    const second = await taken(place);
    assert.deepEqual([second.added, second.events], [0, events]);
    const checked = printed(await backUp('--verify', place, '--json')) as Backup;
    const restored = join(root, 'brought-back');
    const report = printed(await restore(restored, '--from', place, '--json')) as Backup;
    assert.deepEqual([checked.events, report.events], [events, events]);
    const count = 'SELECT toString(count()) AS events FROM events WHERE activity_id != 2113';
    await inEngineOf(restored, async (storage) =>
      assert.deepEqual(await storage.rows(count), [{ events: String(events) }]),
    );
    assert.deepEqual(await source.storage.rows(count), [{ events: String(events - 40) }]);
  });

  test('what was removed after the backup below stays away, whatever the policy is by now, and what a hold kept comes back', async () => {
    const { storage } = source;
    const place = join(root, 'removed-before');
    const organization = randomUUID();
    const now = Date.UTC(2024, 1, 20);
    const day = 86_400_000;
    const events = [0, 1, 2, 3].map((age) => ({
      message: { timestamp: formatMicros((now - age * day) * 1000), action: 1001 },
    }));
    await createRecorder(storage, { now: () => now })(organization, events);
    const first = await taken(place);
    const removal = new EventRemoval(storage);
    const plan = (age: number) =>
      removal.plan({ organization, beforeMicros: (now - age * day) * 1000 }, 2n ** 62n);
    const over = await plan(1);
    assert.ok(over);
    await removal.carryOut([over]);
    const held = await plan(0);
    assert.ok(held);
    await removal.finish(held);
    const second = await taken(place);
    assert.deepEqual([second.base, second.added], [first.id, 0]);
    const target = join(root, 'removed-again');
    const { notes } = printed(await restore(target, '--from', place, '--json')) as Backup;
    assert.match(
      notes.join(),
      /2 events had been removed before the backup was taken, and were removed again/,
    );
    await inEngineOf(target, async (there) => {
      assert.deepEqual(await contents(there), await contents(storage));
    });
    await removal.repeat({ organization, beforeMicros: allTimeMicros, below: 2n ** 62n });
  });

  test('nothing stands on a backup that still has a person who was erased since, whatever else is gone', async () => {
    const place = join(root, 'erasures');
    const erase = async (organization: string): Promise<string> => {
      const [id, startedMicros] = [randomUUID(), Date.now() * 1000];
      const times = { startedMicros, finishedMicros: startedMicros, version: startedMicros };
      const rest = { pseudonym: 'erased-0', operator: 'ops', events: 0, digest: '', account: randomUUID() };
      await beginErasure(source.storage, { id, organizationId: organization, ...rest, ...times });
      return id;
    };
    const gone = await erase(acme);
    const first = await taken(place);
    // As the deletion of its organization does: as many are left as there were.
    const settings = { mutations_sync: 2 };
    await source.storage.command(
      'ALTER TABLE erasures DELETE WHERE id = {gone:UUID}',
      { gone },
      { settings },
    );
    await erase(globex);
    const second = await taken(place);
    assert.deepEqual([first.notes, second.base, second.added], [[], null, second.events]);
    assert.match(second.notes.join(), /a person was erased since the backups there: this one stands alone/);
    await source.storage.command('TRUNCATE TABLE erasures');
    assert.equal((await taken(place)).base, second.id, 'one that is forgotten changes no event');
    // What else needs a secret is told with it.
    await erase(acme);
    await source.storage.insertRows('sign_ons', [{ id: acme, client_secret: 'sealed' }]);
    const last = await taken(place);
    const { notes } = printed(await restore(join(root, 'told'), '--from', place, '--json')) as Backup;
    assert.equal(last.base, null);
    for (const words of [/client secrets of sign-on are sealed/, /pseudonym-secret is not there/])
      assert.match(notes.join(), words);
  });

  test('what is missing, altered, torn or not known is named, and nothing is restored from it', async () => {
    const place = join(root, 'damaged');
    const first = await taken(place);
    const second = await taken(place);
    const empty = join(root, 'stays-empty');
    const events = join(place, first.id, 'events');
    const name = (await readdir(events)).find((one) => !one.includes('counts')) ?? '';
    const content = await readFile(join(events, name));

    const altered = Buffer.from(content);
    altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1;
    await writeFile(join(events, name), altered);
    const check = await backUp('--verify', place, '--json');
    assert.equal(check.code, 1);
    assert.deepEqual((JSON.parse(check.stdout) as { findings: unknown }).findings, [
      { kind: 'altered', backup: first.id, path: `events/${name}` },
    ]);
    refused(await restore(empty, '--from', place), /events\/.* is altered: nothing was restored/);
    await rm(join(events, name));
    refused(await backUp('--verify', place), /the backup is not as it was written/);
    refused(await restore(empty, '--from', place), /events\/.* is missing/);
    await writeFile(join(events, name), content);

    const manifest = join(place, first.id, 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(
      manifest,
      text.replace('"added"', '"adde"').replace(`"events":${allEvents}`, '"events":1'),
    );
    refused(
      await restore(empty, '--from', place),
      new RegExp(`the manifest of the backup ${first.id} .*altered`),
    );
    refused(await backUp('--to', place), /altered/);
    await rm(join(place, first.id), { recursive: true });
    refused(await backUp('--to', place), new RegExp(`the backup ${first.id} in .* is missing`));
    refused(await restore(empty, '--from', place, '--backup', second.id), /is missing/);

    const later = join(root, 'of-later-release');
    const { id } = await taken(later);
    await rewrite(later, id, (stored) => ({ ...stored, columns: [...stored.columns, 'colour'] }));
    refused(await restore(empty, '--from', later), /has events\.colour, which this release does not know/);
    const table = { name: 'webhooks', columns: ['id'], files: [] };
    await rewrite(later, id, (stored) => ({ ...stored, columns: [], tables: [table] }));
    refused(await restore(empty, '--from', later), /has webhooks\.id, which this release does not know/);
    await rewrite(later, id, (stored) => ({ ...stored, tables: [{ ...table, columns: [] }] }));
    refused(await restore(empty, '--from', later), /has webhooks, which this release does not know/);
    assert.match((await taken(later)).notes.join(), /of a release with other columns/);
    const segment = { rows: 0, bytes: 0, checksum: 0, isDamaged: true, manifestVersion: 0, files: [] };
    await rewrite(later, id, (stored) => {
      const number = `../../${'escaped'.repeat(3)}` as unknown as number;
      return { ...stored, tables: [], log: { ...stored.log, segments: [{ ...segment, number }] } };
    });
    refused(await restore(empty, '--from', later), /has a segment that no log has/);
    const large = { path: 'log/answers.0000', bytes: 1, sha256: '' };
    await writeFile(join(later, id, 'large'), '');
    await truncate(join(later, id, 'large'), limits.backupFileBytesMax + 1);
    await mkdir(join(later, id, 'log'), { recursive: true });
    await rm(join(later, id, large.path), { force: true });
    await symlink('../large', join(later, id, large.path));
    await rewrite(later, id, (stored) => ({
      ...stored,
      log: { segments: [], kept: [], answers: [large] },
    }));
    refused(await restore(empty, '--from', later), /cannot be of a backup: it is too large/);
    await rewrite(later, id, (stored) => ({ ...stored, format: 2 }));
    refused(await restore(empty, '--from', later), /the manifest of .* has format 2/);

    const latest = join(place, 'latest.json');
    await writeFile(latest, '{"format":2,"id":"x","sha256":"y"}');
    refused(await restore(empty, '--from', place), /has format 2: this release reads format 1/);
    await writeFile(latest, '{"format":1,"id":"../x","sha256":"y"}');
    refused(await restore(empty, '--from', place), /names a file that it cannot have/);
    await writeFile(latest, '{"format":');
    refused(await restore(empty, '--from', place), /latest.json is not JSON/);
    refused(await restore(empty, '--from', join(root, 'nowhere')), /has no backup that was finished/);
    assert.equal(existsSync(empty), false);
  });

  test('a backup that is named is found beside a full one, and below one that is damaged', async () => {
    const place = join(root, 'named');
    const ids: string[] = [];
    for (const full of [[], [], ['--full']]) ids.push((await taken(place, ...full)).id);
    const [first = '', second = '', last = ''] = ids;
    const named = async (id: string, ...args: string[]) => {
      const answer = await backUp('--verify', place, '--backup', id, '--json', ...args);
      const { backups } = printed(answer) as { backups: readonly { id: string }[] };
      return backups.map((one) => one.id);
    };
    assert.deepEqual(await named(second), [first, second]);
    await rm(join(place, last), { recursive: true });
    assert.deepEqual(await named(first), [first]);
    await rm(join(place, 'latest.json'));
    assert.deepEqual(await named(second), [first, second]);
    refused(await backUp('--verify', place, '--backup', last), /named has no backup/);
    refused(await backUp('--verify', place, '--backup', '../x'), /names a file that it cannot have/);
  });

  test('a place that is not empty, and wrong options, are refused', async () => {
    const place = join(root, 'refusing');
    await taken(place);
    const used = join(root, 'used');
    await mkdir(join(used, 'wal'), { recursive: true });
    refused(await restore(used, '--from', place), /not empty, it has "wal"/);
    refused(await restore(source.dataDir, '--from', place), /not empty/);
    refused(await backUp(), /either --to or --verify/, 2);
    refused(await backUp('--verify', place, '--full'), /only with --to/, 2);
    refused(await backUp('--to', place, '--backup', 'x'), /only with --verify/, 2);
    refused(await backUp('--to', 's3://A'), /--to: the name of a bucket|s3:\/\//, 2);
    refused(await backUp('--to', '/proc/none/x'), /\/proc\/none: /);
  });

  test('a directory is marked before the backup is looked at: no command uses one whose restore was killed', async (t) => {
    const place = join(root, 'slow-check');
    const { events } = await taken(place);
    const target = join(root, 'killed-check');
    const environment = { ...process.env, DATA_DIR: target, PORT: '0' };
    const command = (...args: string[]) =>
      spawn(process.execPath, [...cliCommand, ...args], { cwd: projectRoot, env: environment });
    // A pipe that nobody writes to: the restore stands still with the first file that it reads.
    const latest = join(place, 'latest.json');
    await rename(latest, `${latest}.kept`);
    spawnSync('mkfifo', [latest]);
    const running = command('restore', '--from', place);
    t.after(() => running.kill('SIGKILL'));
    await eventually(
      'the directory is marked',
      async () => existsSync(join(target, 'restoring')) || undefined,
    );
    const list = () => runCliHere(['org', 'list'], { dataDir: target });
    const words = `DATA_DIR is ${target}: process ${running.pid} restores a backup into it; wait for its end`;
    refused(await list(), new RegExp(words), 2);
    running.kill('SIGKILL');
    await once(running, 'exit');
    await rm(latest);
    await rename(`${latest}.kept`, latest);

    const unfinished =
      /the restore of a backup into it was not finished; run the same "auditlog restore" again/;
    refused(await list(), unfinished, 2);
    const served = await runCli(['serve'], { dataDir: target });
    refused({ ...served, stdout: '' }, unfinished, 2);
    assert.deepEqual(await readdir(target), ['restoring']);
    assert.equal((printed(await restore(target, '--from', place, '--json')) as Backup).events, events);
    assert.equal((await list()).code, 0);
  });

  test('a restore that ends by itself before it has put in anything leaves no mark', async () => {
    const target = join(root, 'no-backup');
    refused(await restore(target, '--from', join(root, 'nowhere')), /has no backup/);
    assert.equal(existsSync(target), false);
    await mkdir(target);
    refused(await restore(target, '--from', join(root, 'nowhere')), /has no backup/);
    assert.deepEqual(await readdir(target), []);
  });

  test('a database that is not empty is refused however often it is tried, and another one than was begun with', async () => {
    const place = join(root, 'into-database');
    await taken(place);
    const engine = await startPlainEngine();
    try {
      const into = (name: string, database: string) => {
        const env = { ...engine.env, CLICKHOUSE_DATABASE: database };
        return runCliHere(['restore', '--from', place], { dataDir: join(root, name), env });
      };
      assert.equal((await into('of-database', 'restored')).code, 0);
      for (let attempt = 0; attempt < 2; attempt++)
        refused(await into('of-full-database', 'restored'), /the database "restored" is not empty/);
      assert.equal((await into('of-full-database', 'another')).code, 0);
      await writeFile(join(root, 'of-database', 'restoring'), `an id into ${engine.url}, database other\n`);
      refused(await into('of-database', 'restored'), /has begun to restore an id into .*, database other/);
    } finally {
      await engine.stop();
    }
  });

  test('what does not have the counts of the backup is told, and is no data directory for anybody', async () => {
    const place = join(root, 'miscounted');
    const { id } = await taken(place);
    const counts = join(place, id, 'events', '202312.counts.0000');
    const [first = '', ...others] = (await readFile(counts, 'utf8')).split('\n');
    const line = JSON.parse(first) as { organization: string; events: number };
    const changed = Buffer.from([JSON.stringify({ ...line, events: line.events + 1 }), ...others].join('\n'));
    await writeFile(counts, changed);
    const file = { bytes: changed.length, sha256: sha256Of(changed) };
    await rewrite(place, id, (stored) => ({
      ...stored,
      months: stored.months.map((one) =>
        one.month === 202312 ? { ...one, counts: one.counts.map(({ path }) => ({ path, ...file })) } : one,
      ),
    }));
    const target = join(root, 'not-counted');
    const answer = await restore(target, '--from', place, '--json');
    assert.equal(answer.code, 1);
    assert.deepEqual((JSON.parse(answer.stdout) as { findings: unknown }).findings, [
      { organization: line.organization, month: '2023-12', events: line.events + 1, found: line.events },
    ]);
    refused(
      await runCliHere(['org', 'list'], { dataDir: target }),
      /the restore of the backup .* into it was not finished/,
      2,
    );
  });
});

/** Changes the manifest of the newest backup, as somebody who can write there could do it. */
async function rewrite(place: string, id: string, change: (stored: Manifest) => Manifest): Promise<void> {
  const path = join(place, id, 'manifest.json');
  const text = Buffer.from(JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as Manifest)));
  await writeFile(path, text);
  await writeFile(join(place, 'latest.json'), latestText({ id, sha256: sha256Of(text) }));
}

/** Where a user may have mounts of its own, the test needs no rights for a small disk. */
const mayMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;
const unlessMount = mayMount ? false : 'NOT TESTED: no mounts of its own for this user, so no full disk';

/** Runs a program of Node.js where `directory` is a disk of its own. */
function onSmallDisk(directory: string, args: readonly string[], dataDir: string): string {
  const script = 'mount -t tmpfs -o size=8m,mode=0700 tmpfs "$1"; shift; exec "$@"';
  const command = ['-Urm', 'sh', '-ec', script, 'sh', directory, process.execPath, ...args];
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir };
  const { stderr, stdout } = spawnSync('unshare', command, { cwd: projectRoot, env, encoding: 'utf8' });
  return stdout + stderr;
}

describe('a disk that is too small', () => {
  test('is told before anything is written', { skip: unlessMount }, async () => {
    const place = join(root, 'small');
    await taken(place);
    const small = join(root, 'small-disk');
    await mkdir(small);
    const backup = onSmallDisk(small, [...cliCommand, 'backup', '--to', small], source.dataDir);
    assert.match(backup, /small-disk has 8 MiB free: \d+ MiB may be needed/);
    const target = onSmallDisk(small, [...cliCommand, 'restore', '--from', place], small);
    assert.match(target, /the disk of DATA_DIR .* has 8 MiB free: \d+ MiB may be needed/);
  });

  test('that fills up ends a backup, of which nothing is left', { skip: unlessMount }, async () => {
    const full = join(root, 'full-disk');
    await mkdir(full);
    const program = `
      import { LocalPlace } from ${JSON.stringify(new URL('../../src/backup/local-place.ts', import.meta.url).href)};
      import { readdirSync } from 'node:fs';
      const place = new LocalPlace(${JSON.stringify(full)});
      try { for (let n = 0; n < 9; n++) await place.put('one', 'events/' + n, Buffer.alloc(2 ** 20)); }
      catch (error) { console.log(error.message); }
      await place.abandon('one');
      console.log(readdirSync(${JSON.stringify(full)}).length, 'left');`;
    const said = onSmallDisk(full, ['--import', 'tsx', '--input-type=module', '-e', program], root);
    assert.match(said, /the disk of .*full-disk is full: free some space on it\n0 left/);
  });
});

describe('in a bucket', () => {
  let bucket: Bucket;
  before(async () => {
    bucket = await startBucket();
  });
  after(() => bucket?.close());
  const at = () => ['s3://audit-backups/nightly', '--s3-endpoint', bucket.url] as const;
  const latestPath = '/audit-backups/nightly/latest.json';

  /** Work that is done before the answer to each PUT of a file whose path has `part`. */
  const whilePutting = (part: string, work: () => Promise<unknown>): void => {
    bucket.refuse = async ({ method, path }) => {
      if (method === 'PUT' && path.includes(part)) await work();
      return undefined;
    };
  };

  /** New events, what the files of their slices begin with, and what removes the next of them. */
  async function recordRemovable(count: number) {
    const now = Date.now();
    const month = formatMicros(now * 1000)
      .slice(0, 7)
      .replace('-', '');
    const event = { level: 'INFO', message: { timestamp: formatMicros(now * 1000), action: 1001 } };
    const rows = await createRecorder(source.storage, { now: () => now })(
      acme,
      Array.from({ length: count }, () => event),
    );
    const query = `ALTER TABLE events DELETE IN PARTITION ID '${month}' WHERE seq = `;
    const settings = { mutations_sync: 1 };
    const remove = () => source.storage.command(`${query}${rows.shift()?.seq}`, {}, { settings });
    return { slices: `events/${month}-`, remove };
  }

  test('backups are taken, verified and restored; what is busy, or loses events meanwhile, is asked again', async () => {
    let busy = 1;
    bucket.refuse = ({ path }) => (path.includes('/events/') && busy-- > 0 ? 503 : undefined);
    const first = await taken(...at());
    const second = await taken(...at());
    assert.deepEqual([second.base, second.added], [first.id, 0]);
    assert.equal((await backUp('--verify', ...at())).code, 0);

    const { slices, remove } = await recordRemovable(12);
    let isRemoved = false;
    whilePutting(slices, async () => {
      if (!isRemoved) await remove();
      isRemoved = true;
    });
    const { id, events, added } = await taken(...at());
    assert.equal(added, 11);
    const manifest = bucket.objects.get(`/audit-backups/nightly/${id}/manifest.json`);
    const [month] = (JSON.parse(String(manifest)) as Manifest).months;
    assert.deepEqual(
      month?.slices.map((slice) => [slice.events, slice.files.map(({ path }) => path)]),
      [[11, [`${slices}000000.2.0000`]]],
    );
    // Which holds the rows to the counts.
    const target = join(root, 'from-bucket');
    const report = printed(await restore(target, '--from', ...at(), '--json')) as Backup;
    assert.equal(report.events, events);
    const [path] = [...bucket.objects.keys()].filter((one) => one.includes('/events/'));
    bucket.objects.delete(path ?? '');
    refused(await backUp('--verify', ...at()), /not as it was written/);
  });

  test('a slice of which events are removed at each reading ends the run', async () => {
    const { slices, remove } = await recordRemovable(12);
    let removed = 0;
    whilePutting(slices, async () => {
      await remove();
      removed += 1;
    });
    const latest = bucket.objects.get(latestPath);
    refused(await backUp('--to', ...at()), /events are being removed all the time: run this again later/);
    assert.deepEqual([removed, bucket.objects.get(latestPath)], [limits.backupSliceTriesMax, latest]);
  });

  test('a backup beside which another one is finished has all that the one that it stands on has not', async () => {
    bucket.refuse = () => undefined;
    const first = await taken(...at(), '--full');
    await recordRemovable(5);
    let isFinished = false;
    bucket.refuse = async ({ method, path }) => {
      if (method !== 'GET' || path !== latestPath || isFinished) return undefined;
      isFinished = true;
      await taken(...at());
      return undefined;
    };
    const { base, added } = await taken(...at());
    assert.deepEqual([base, added], [first.id, 5]);
  });

  test('one that refuses ends the run, and leads nobody to what was put', async () => {
    const latest = bucket.objects.get(latestPath);
    let puts = 0;
    bucket.refuse = ({ method }) => (method === 'PUT' && ++puts > 3 ? 403 : undefined);
    const answer = await backUp('--to', ...at(), '--full');
    refused(answer, /s3:\/\/audit-backups\/nightly\/.*: the service answered 403/);
    assert.doesNotMatch(answer.stderr, /secret/);
    assert.equal(bucket.objects.get(latestPath), latest);
    // As where there is no such bucket.
    bucket.refuse = ({ method }) => (method === 'PUT' ? 404 : undefined);
    refused(await backUp('--to', ...at(), '--full'), /s3:\/\/audit-backups\/.*: the service answered 404/);
    const without = { dataDir: source.dataDir, env: { AWS_ACCESS_KEY_ID: '' } };
    refused(await runCliHere(['backup', '--to', ...at()], without), /AWS_SECRET_ACCESS_KEY/, 2);
  });

  /** What is restored of an erasure is held as it was, and carried out once it is released. */
  async function goesOnAfterRestore(place: string, erasure: StoredErasure, seq: string): Promise<void> {
    const to = join(root, 'erasing');
    const answer = await restore(to, '--from', place);
    assert.equal(answer.code, 0, answer.stderr);
    await inEngineOf(to, async (storage) => {
      const source = async () => {
        const [row] = await storage.rows<{ source: string }>(
          'SELECT source FROM events WHERE org = {acme:UUID} AND seq = toUInt64({seq:String})',
          { acme, seq },
        );
        return row?.source;
      };
      assert.equal(await carryOutErasure(storage, erasure, Date.now() * 1000), 'held');
      await releaseHold(storage, acme, { reason: 'over' });
      assert.notEqual(await source(), '{"erased":true}');
      await carryOutErasure(storage, erasure, Date.now() * 1000);
      assert.equal(await source(), '{"erased":true}');
    });
  }

  test('a backup beside an erasure that is under way or held carries its plan along, and stands on none of before', async () => {
    const meanwhile = /the erasure of a person was begun meanwhile: run this again/;
    const begun = async (): Promise<StoredErasure> => {
      const times = { startedMicros: Date.now() * 1000, finishedMicros: undefined, version: 1 };
      const who = { organizationId: acme, pseudonym: 'somebody', operator: 'test', account: randomUUID() };
      const erasure = { id: randomUUID(), ...who, events: 0, digest: sha256Of(Buffer.of()), ...times };
      await beginErasure(source.storage, erasure);
      return erasure;
    };
    const finish = (one: StoredErasure) => carryOutErasure(source.storage, one, Date.now() * 1000);
    bucket.refuse = () => undefined;
    const place = join(root, 'plans');
    const [first] = await source.storage.rows<{ seq: string; before: string }>(
      `SELECT toString(seq) AS seq, lower(hex(${eventHashNow})) AS before FROM events WHERE org = {acme:UUID}
       ORDER BY time LIMIT 1`,
      { acme },
    );
    assert.ok(first);
    await taken(place);
    const erasure = await begun();
    const erased = '{"erased":true}';
    const texts = { activityName: 'a', actorEmail: '', actorId: '', names: [], fileHash: [], ocsf: '' };
    const event = { seq: BigInt(first.seq), before: first.before, ...texts, source: erased };
    await planEvents(source.storage, erasure, [event]);
    await placeHold(source.storage, acme, 'a case');
    const held = await taken(place);
    assert.ok(held.base !== null, 'it has changed nothing yet');
    assert.match(
      held.notes.join(),
      /a person is being erased from events: a restored server goes on with that/,
    );
    await goesOnAfterRestore(place, erasure, first.seq);
    await releaseHold(source.storage, acme, { reason: 'over' });
    assert.ok((await taken(place)).base !== null);
    await finish(erasure);
    const after = await taken(place);
    assert.deepEqual([after.base, after.added], [null, after.events]);
    assert.match(after.notes.join(), /a person was erased since the backups there: this one stands alone/);

    await taken(...at());
    // Begun, and begun and finished, as the last table of a backup is being put.
    const latest = bucket.objects.get(latestPath);
    whilePutting('/tables/organizations', async () => finish(await begun()));
    refused(await backUp('--to', ...at()), meanwhile);
    whilePutting('/tables/organizations', begun);
    refused(await backUp('--to', ...at()), meanwhile);
    assert.equal(bucket.objects.get(latestPath), latest);
  });
});
