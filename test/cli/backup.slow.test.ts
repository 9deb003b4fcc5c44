import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import { BackupDirectory } from '../../src/backup/backup-directory.ts';
import { backupSteps } from '../../src/backup/tables.ts';
import { BackupRun } from '../../src/backup/take.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Directory } from '../../src/control/directory.ts';
import { beginErasure, carryOutErasure, type StoredErasure } from '../../src/control/erasure.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createRecorder } from '../read/support.ts';
import { cliCommand } from '../support/cli-command.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { inEngineOf, startTestEngine, type TestEngine } from '../support/engine.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { eventually } from '../support/http.ts';
import { JournalEvents } from '../support/journal-events.ts';
import { type CliAnswer, printed, runCli, runCliHere } from '../support/server.ts';

/** Backups of an engine without a server, into successive directories. */
let acme: string;
let globex: string;

interface Backup {
  readonly id: string;
  readonly base: string | null;
  readonly events: number;
  readonly notes: readonly string[];
}

let source: TestEngine;
let directory: Directory;
/** Directory of all others in this file. */
let root: string;
before(async () => {
  [source, root] = await Promise.all([startTestEngine(), temporaryDirectory()]);
  directory = await openDirectory(source.storage);
  [acme, globex] = [await organizationOf('acme'), await organizationOf('globex')];
  for (const day of ['2023-12-20', '2024-01-20']) await recordOn(day, 300);
  const tile = (level: number, width: number) => {
    const last_seq = level === 0 ? '5000' : '0';
    return { org: acme, level, tile: 0, width, last_seq, content: 'é\u0001"\\'.repeat(width) };
  };
  await source.storage.insertRows('evidence_tiles', [tile(0, 7), tile(0, 9), tile(1, 2)]);
});
after(async () => {
  await source?.stop();
  if (root !== undefined) await removeDirectory(root);
});

/** The id of a new organization with stored events. */
async function organizationOf(slug: string): Promise<string> {
  const { id } = await directory.change(operatorCall, createOrganization({ slug, name: slug }));
  await new JournalEvents(source.storage, createRecorder(source.storage), id).hand();
  return id;
}

async function recordOn(day: string, count: number): Promise<void> {
  const now = Date.parse(`${day}T12:00:00Z`) + Math.floor(Math.random() * 36_000_000);
  const events = Array.from({ length: count }, (_, n) => ({
    message: {
      timestamp: formatMicros((now - (n % 3) * 86_400_000) * 1000),
      action: [1001, 2000, 2010][n % 3],
      actor: `user-${n % 50}@example.com`,
      extra: { n, note: `é\t${'x'.repeat(n % 300)}` },
    },
  }));
  const record = createRecorder(source.storage, { now: () => now });
  await record(acme, events);
  await record(globex, events.slice(0, count / 3));
}

/** Every row of every backed-up table, as text; without the rows of a restore. */
async function contents(storage: Storage): Promise<Record<string, unknown[]>> {
  const tables = Object.values(backupSteps).flat();
  const rows = tables.map(async (name) => {
    const final = ['events', 'journal'].includes(name) ? '' : 'FINAL';
    const rows = await storage.rows<object>(`SELECT * FROM ${name} ${final} ORDER BY ALL`);
    return [name, rows.filter((row) => !JSON.stringify(row).includes('Restored from a backup'))] as const;
  });
  return Object.fromEntries(await Promise.all(rows));
}

const backUp = (...args: string[]): Promise<CliAnswer> =>
  runCliHere(['backup', ...args], { dataDir: source.dataDir });
const restore = (dataDir: string, ...args: string[]): Promise<CliAnswer> =>
  runCliHere(['restore', ...args], { dataDir });

async function taken(place: string, ...args: string[]): Promise<Backup> {
  return printed(await backUp('--to', place, '--json', ...args)) as Backup;
}

function refused(answer: CliAnswer, words: RegExp, code = 1): void {
  assert.equal(answer.code, code, answer.stdout);
  assert.match(answer.stderr, words);
}

test('everything comes back as it was, from a full backup and one on it, in a directory that was moved', async () => {
  const place = join(root, 'moved');
  await writeFile(join(source.dataDir, 'session-secret'), 'x'.repeat(43));
  const first = await taken(join(root, 'made'), '--with-secrets');
  const before = await contents(source.storage);
  await recordOn('2024-02-20', 60);
  const second = await taken(join(root, 'made'), '--with-secrets');
  assert.deepEqual([first.base, second.base, second.events], [null, first.id, first.events + 80]);
  const now = await contents(source.storage);
  await rename(join(root, 'made'), place);
  for (const [backup, expected] of [
    [second, now],
    [first, before],
  ] as const) {
    const target = join(root, backup.id);
    const report = printed(await restore(target, '--from', place, '--backup', backup.id, '--json')) as Backup;
    assert.deepEqual([report.id, report.events], [backup.id, backup.events]);
    assert.equal(await readFile(join(target, 'session-secret'), 'utf8'), 'x'.repeat(43));
    await inEngineOf(target, async (storage) => {
      assert.deepEqual(await contents(storage), expected);
      const [row] = await storage.rows<{ events: string }>(
        'SELECT count() AS events FROM events WHERE activity_id = 2113',
      );
      assert.equal(Number(row?.events), 2);
    });
    // A restore never overwrites data.
    refused(await restore(target, '--from', place), /restore into an empty directory/);
  }
  assert.equal((await taken(place, '--full')).base, null);
  await rm(join(source.dataDir, 'session-secret'));
});

test('a backup is full if the last increment exceeds half of its base', async () => {
  const place = join(root, 'growing');
  const first = await taken(place);
  await recordOn('2024-03-20', 1_500);
  assert.equal((await taken(place)).base, first.id);
  assert.equal((await taken(place)).base, null);
});

test('every file that is missing, altered or new is named, and nothing is restored', async () => {
  const directory = join(root, 'damaged');
  const { id } = await taken(directory);
  const place = new BackupDirectory(directory);
  const chain = await place.chainOf();
  const look = async () =>
    (await place.findings(chain, () => undefined)).map(({ kind, path }) => [kind, path]);
  assert.deepEqual(await look(), []);
  const sums = await readFile(place.path(id, 'SHA256SUMS'), 'utf8');
  const paths = [...sums.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, path = '']) => path);
  assert.ok(paths.includes('events/.backup') && paths.some((path) => path.endsWith('.bin')));
  const contentOf = new Map<string, Buffer>();
  for (const path of paths) {
    const content = await readFile(place.path(id, path));
    contentOf.set(path, content);
    const flipped = Buffer.from(content);
    const at = Math.floor(Math.random() * content.length);
    if (content.length > 0) flipped[at] = (flipped[at] ?? 0) ^ 1;
    await writeFile(place.path(id, path), content.length > 0 ? flipped : 'x');
  }
  const all = (kind: string) => paths.map((path) => [kind, path]);
  assert.deepEqual(await look(), all('altered'));
  for (const path of paths) await rm(place.path(id, path));
  assert.deepEqual(await look(), all('missing'));
  for (const [path, content] of contentOf) await writeFile(place.path(id, path), content);
  await writeFile(place.path(id, 'events', 'new'), '');
  assert.deepEqual(await look(), [['altered', 'events/new']]);
  refused(await backUp('--verify', directory), /the backup is damaged/);
  await rm(place.path(id, 'events', 'new'));

  const target = join(root, 'of-damaged');
  for (const [at, change] of [
    [0, 'f'],
    [70, '\n'],
    [sums.length - 1, ' '],
  ] as const) {
    await writeFile(
      place.path(id, 'SHA256SUMS'),
      sums.slice(0, at) + (sums[at] === change ? '0' : change) + sums.slice(at + 1),
    );
    assert.equal((await backUp('--verify', directory)).code, 1);
    assert.equal((await restore(target, '--from', directory)).code, 1);
    assert.equal(existsSync(target), false);
  }
  await rm(place.path(id, 'SHA256SUMS'));
  refused(await backUp('--verify', directory), /is altered/);
  await writeFile(place.path(id, 'SHA256SUMS'), sums);
  assert.equal((await backUp('--verify', directory)).code, 0);

  const second = await taken(directory);
  await rm(place.path(id), { recursive: true });
  refused(await backUp('--verify', directory), new RegExp(`${id}, which ${second.id} extends, is missing`));
});

test('a killed run is reported and never extended; wrong options are refused', async () => {
  const place = join(root, 'refusing');
  const { id } = await taken(place);
  await mkdir(join(place, `${id.replace(/.$/, 'x')}.unfinished`));
  const inFuture = await new BackupDirectory(place).nextId(Date.now() + 86_400_000);
  await mkdir(join(place, inFuture));
  assert.ok((await new BackupDirectory(place).nextId(Date.now())) > inFuture, 'the clock was set back');
  await rm(join(place, inFuture), { recursive: true });
  assert.match((await taken(place)).notes.join(), /unfinished belongs to an interrupted or running backup/);
  const used = join(root, 'used');
  await mkdir(join(used, 'wal'), { recursive: true });
  refused(await restore(used, '--from', place), /contains "wal"; restore into an empty directory/);
  refused(await restore(source.dataDir, '--from', place), /restore into an empty directory/);
  refused(await restore(used), /either --from or --record/, 2);
  refused(await backUp(), /either --to or --verify/, 2);
  refused(await backUp('--verify', place, '--full'), /only with --to/, 2);
  refused(await backUp('--to', place, '--backup', 'x'), /only with --verify/, 2);
  refused(await backUp('--verify', place, '--backup', '../x'), /has no backup \.\.\/x/);
  refused(await backUp('--to', 's3://bucket/x'), /--to: a directory; copy it to a bucket/, 2);
  refused(await backUp('--to', '/proc/none/x'), /\/proc\/none/);
  const env = { CLICKHOUSE_URL: 'http://127.0.0.1:1' };
  const ofServer = await runCliHere(['backup', '--to', place], { dataDir: source.dataDir, env });
  refused(ofServer, /CLICKHOUSE_URL is set: back up .*docs\/back-up\.md/, 2);
});

test('a directory is marked before the backup is looked at: no command uses one whose restore was killed', async (t) => {
  const place = join(root, 'slow-check');
  const { events, id } = await taken(place);
  const target = join(root, 'killed-check');
  const environment = { ...process.env, DATA_DIR: target, PORT: '0' };
  const command = (...args: string[]) =>
    spawn(process.execPath, [...cliCommand, ...args], { cwd: projectRoot, env: environment });
  // A pipe without a writer: the restore blocks at the first file that it reads.
  const sums = join(place, id, 'SHA256SUMS');
  await rename(sums, `${sums}.kept`);
  spawnSync('mkfifo', [sums]);
  const running = command('restore', '--from', place);
  t.after(() => running.kill('SIGKILL'));
  await eventually('the directory is marked', async () => existsSync(join(target, 'restoring')) || undefined);
  const list = () => runCliHere(['org', 'list'], { dataDir: target });
  const words = `DATA_DIR is ${target}: process ${running.pid} restores a backup into it; wait for its end`;
  refused(await list(), new RegExp(words), 2);
  running.kill('SIGKILL');
  await once(running, 'exit');
  await rm(sums);
  await rename(`${sums}.kept`, sums);

  const unfinished =
    /the restore of a backup into it was not finished; run the same "auditlog restore" again/;
  refused(await list(), unfinished, 2);
  const served = await runCli(['serve'], { dataDir: target });
  refused({ ...served, stdout: '' }, unfinished, 2);
  assert.deepEqual(await readdir(target), ['restoring']);
  // As after a kill when the engine had some tables.
  await writeFile(join(target, 'restoring'), `${id}\n`);
  for (const name of ['engine/store', 'wal', 'idempotency'])
    await mkdir(join(target, name), { recursive: true });
  assert.equal((printed(await restore(target, '--from', place, '--json')) as Backup).events, events);
  assert.equal((await list()).code, 0);
});

test('a restore that ends by itself before it has put in anything leaves no mark', async () => {
  const target = join(root, 'no-backup');
  refused(await restore(target, '--from', join(root, 'nowhere')), /has no finished backup/);
  assert.equal(existsSync(target), false);
  await mkdir(target);
  refused(await restore(target, '--from', join(root, 'nowhere')), /has no finished backup/);
  assert.deepEqual(await readdir(target), []);
});

test('a database that is not empty is refused however often it is tried, and one that was begun stays marked', async () => {
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
    const marked = join(root, 'of-marked');
    await mkdir(marked);
    await writeFile(join(marked, 'restoring'), 'an id\n');
    refused(await into('of-marked', 'restored'), /drop it after an interrupted restore/);
    assert.equal(await readFile(join(marked, 'restoring'), 'utf8'), 'an id\n');
  } finally {
    await engine.stop();
  }
});

const erasureOf = (): Parameters<typeof beginErasure>[0] => {
  const who = { organizationId: acme, pseudonym: 'somebody', operator: 'test', account: randomUUID() };
  return { id: randomUUID(), ...who, events: 1, digest: '0'.repeat(64) };
};
const begin = () => directory.change(operatorCall, beginErasure(erasureOf(), []));
const carryOut = (erasure: StoredErasure) => carryOutErasure({ storage: source.storage, directory }, erasure);

test('no increment extends a backup with a person erased since, and an erasure during a backup ends it', async () => {
  const place = join(root, 'erased');
  await taken(place);
  const erasure = await begin();
  const during = await taken(place);
  assert.ok(during.base !== null, 'it has changed nothing yet');
  assert.match(during.notes.join(), /an erasure of a person is in progress/);
  await carryOut(erasure);
  const alone = await taken(place);
  assert.equal(alone.base, null);
  assert.match(alone.notes.join(), /a person was erased since the earlier backups, so this one is full/);
  const last = await taken(place);
  assert.deepEqual([last.base, last.notes], [alone.id, []]);

  const begun: StoredErasure[] = [];
  const meanwhile = [
    async () => void begun.push(await begin()),
    async () => {
      for (const one of begun) await carryOut(one);
    },
  ];
  for (const work of meanwhile) {
    const command: Storage['command'] = async (query, ...rest) => {
      if (query.includes('`journal`')) await work();
      return source.storage.command(query, ...rest);
    };
    const storage = Object.assign(Object.create(source.storage) as Storage, { command });
    const session = { storage, config: loadConfig({ DATA_DIR: source.dataDir }), isShared: true };
    const options = { momentMs: Date.now(), isFull: false, withSecrets: false, isFullSpeed: true };
    const run = new BackupRun(session, { ...options, place: new BackupDirectory(place) });
    const before = await readdir(place);
    await assert.rejects(() => run.run(), /an erasure of a person began or ended meanwhile; run this again/);
    assert.deepEqual(await readdir(place), before);
  }
});

/** With user namespaces the test needs no rights for a small disk. */
const mayMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;
const unlessMount = mayMount ? false : 'NOT TESTED: no mounts of its own for this user, so no full disk';

test('a disk that is too small is named, and one that fills up ends the backup without a trace', {
  skip: unlessMount,
}, async () => {
  const place = join(root, 'for-disk');
  await taken(place);
  const [disk, dataDir] = [join(root, 'disk'), join(root, 'for-small')];
  await mkdir(disk);
  assert.equal((await restore(dataDir, '--from', place)).code, 0);
  const script = `mount -t tmpfs -o size=80m,mode=0700 tmpfs "$1"; cd "$1"
    "$@" backup --to "$1"; "$@" backup --to "$1" | head -1
    dd if=/dev/zero of=fill bs=4k 2> /dev/null || truncate -s -8k fill
    "$@" backup --to "$1" || ls "$1" | grep -c '^2'
    mkdir data; DATA_DIR="$1/data" "$@" restore --from ${place}`;
  const command = script.replaceAll(
    '"$@"',
    [process.execPath, ...cliCommand].map((one) => `'${one}'`).join(' '),
  );
  const { stdout, stderr } = spawnSync('unshare', ['-Urm', 'sh', '-c', command, 'sh', disk], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  assert.match(stdout, /whole, of .*[^]*on top of/, stderr);
  assert.match(stderr, /The engine wrote \d+ of \d+ bytes to .*disk: free some space|ENOSPC|disk .*is full/);
  assert.match(stdout, /\n2\n/, stdout + stderr);
  assert.match(stderr, /the disk of DATA_DIR .* has \d+ MiB free, but \d+ MiB may be needed/);
});
