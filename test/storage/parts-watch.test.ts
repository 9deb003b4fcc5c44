import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import type { Logger } from '../../src/base/observability/log.ts';
import { openStorage } from '../../src/storage/client.ts';
import { type EmbeddedEngine, startEmbeddedEngine } from '../../src/storage/engine.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { firstSeqOf, segmentAtTime } from '../../src/base/events/sequence.ts';
import { PartsWatch } from '../../src/storage/parts-watch.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { WrittenParts } from '../../src/storage/own-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';

/** The ledger against a real table whose files are harmed while the engine is stopped, as a disk would do it. */

let dataDir: string;
let engine: EmbeddedEngine;
let storage: Storage;
/** As events of this hour have it: what is older the engine may merge by itself, to compress it. */
let nextSeq = firstSeqOf(segmentAtTime(Date.now() + 600_000));

async function startEngine(): Promise<void> {
  engine = await startEmbeddedEngine({ dataDir, database: 'audit', log: silentLog });
  storage = openStorage(engine.connection, silentLog);
  await migrate(storage, { log: silentLog });
  await storage.command('SYSTEM STOP MERGES events');
}

async function stopEngine(): Promise<void> {
  await storage.close();
  await engine.stop();
}

before(async () => {
  dataDir = await temporaryDirectory();
  await startEngine();
});
after(async () => {
  await stopEngine();
  await removeDirectory(dataDir);
});

/** `rows` events as one part; they expire on the day given. */
async function store(rows: number, expires = '2149-06-06'): Promise<void> {
  await storage.command(
    `INSERT INTO events (org, time, seq, expires, ocsf) SELECT '00000000-0000-4000-8000-000000000001',
     toDateTime64('2024-05-06 00:00:00', 6), {seq:UInt64} + number, {expires:Date}, '"time":1' FROM numbers({rows:UInt64})`,
    { seq: String(nextSeq), expires, rows },
  );
  nextSeq += BigInt(rows);
}

interface Part {
  readonly name: string;
  readonly path: string;
  readonly rows: string;
}

const parts = (): Promise<Part[]> =>
  storage.rows<Part>(
    "SELECT name, path, rows FROM system.parts WHERE table = 'events' AND active ORDER BY min_block_number",
  );

interface Watched {
  readonly damage: DamageRegister;
  readonly lines: string[];
  stop(): Promise<void>;
}

/** A watch of its own, as a server would have it, once it has compared ledger and table and counted what is new. */
async function watched(watermark = async () => nextSeq): Promise<Watched> {
  const damage = new DamageRegister();
  const lines: string[] = [];
  const line = (facts: object, words: string): void => void lines.push(`${words} ${JSON.stringify(facts)}`);
  const log: Logger = { debug: () => {}, info: line, warn: line, error: line };
  const watch = new PartsWatch({
    storage,
    dataDir,
    damage,
    log,
    watermark,
    stored: () => 1,
    checkWritten: async () => {},
    expiryMicros: () => Date.now() * 1000,
    engineStarts: () => 0,
  });
  await watch.start();
  const through = String(nextSeq - 1n);
  await eventually('the ledger to count', async () => {
    const text = await readFile(join(dataDir, 'ledger.json'), 'utf8').catch(() => '');
    return text.includes(`"through":"${through}"`) ? true : undefined;
  });
  return { damage, lines, stop: () => watch.stop() };
}

/** One more event, so that the next watch has something to count when it has compared. */
async function lookAgain(): Promise<Watched> {
  await store(1);
  return watched();
}

test('what the engine loses behind the back of the service is told; what it can do without is not', async () => {
  await store(100);
  await store(50);
  let watch = await watched();
  assert.deepEqual(watch.damage.list(), []);
  await watch.stop();

  // A merged part breaks while what it was made of is still there: no loss.
  await storage.command('SYSTEM START MERGES events');
  await storage.command('OPTIMIZE TABLE events FINAL');
  const [merged] = await parts();
  assert.equal(merged?.rows, '150');
  await stopEngine();
  await rm(join(merged.path, 'data.bin'));
  await startEngine();
  watch = await lookAgain();
  assert.deepEqual(watch.damage.list(), []);
  assert.ok(watch.lines.some((line) => line.includes('no counted event') && line.includes(merged.name)));
  await watch.stop();

  // Without them it is one, as is a part whose folder is gone without a trace.
  const [first, second] = await parts();
  assert.deepEqual([first?.rows, second?.rows], ['100', '50']);
  await stopEngine();
  await rm(join(first?.path ?? '', 'data.bin'));
  await rm(second?.path ?? '', { recursive: true });
  await startEngine();
  watch = await lookAgain();
  const told = watch.damage.list().map(({ kind, id, detail }) => ({ kind, id: id.split('_')[0], detail }));
  assert.ok(told.some(({ kind, detail }) => kind === 'missing_events' && detail.startsWith('150 ')));
  assert.ok(told.some(({ kind, id }) => kind === 'engine_part' && id === 'broken-on-start'));
  assert.equal(watch.lines.filter((line) => line.includes('are missing from the table')).length, 1);
  await watch.stop();
});

test('events that expire, or that the service removes before, are not missed', async () => {
  const soon = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  await store(10, '2020-01-01');
  await store(10, soon);
  let watch = await watched();
  const before = watch.damage.list();
  await watch.stop();
  await storage.command('SYSTEM START MERGES events');
  await storage.command(
    `INSERT INTO removals (id, partition, expires, rows) SELECT generateUUIDv4(), _partition_id, expires, count()
     FROM events WHERE expires = {soon:Date} GROUP BY _partition_id, expires`,
    { soon },
  );
  await storage.command(
    "ALTER TABLE events DELETE WHERE expires IN ({soon:Date}, '2020-01-01') SETTINGS mutations_sync = 2",
    { soon },
  );
  watch = await lookAgain();
  assert.deepEqual(watch.damage.list(), before);
  await watch.stop();
});

test('a ledger that begins anew takes nothing that is lost for what was removed before it', async () => {
  await store(7);
  await storage.command(
    `INSERT INTO removals (id, partition, expires, rows, done)
     SELECT generateUUIDv4(), _partition_id, expires, 50, true FROM events ORDER BY seq DESC LIMIT 1`,
  );
  await rm(join(dataDir, 'ledger.json'));
  let watch = await watched();
  assert.deepEqual(watch.damage.list(), []);
  await watch.stop();
  await storage.command('ALTER TABLE events DELETE WHERE seq >= {first:UInt64} SETTINGS mutations_sync = 2', {
    first: nextSeq - 7n,
  });
  watch = await lookAgain();
  const told = watch.damage.list().find(({ kind }) => kind === 'missing_events');
  assert.match(told?.detail ?? 'nothing is told', /^7 stored events/);
  await watch.stop();
});

test('a ledger that could not be written is written later', async () => {
  await store(5);
  const obstacle = join(dataDir, 'ledger.json.tmp');
  await mkdir(obstacle);
  let failures = 0;
  const watch = new PartsWatch({
    storage,
    dataDir,
    damage: new DamageRegister(),
    log: { debug: () => {}, info: () => {}, warn: () => void failures++, error: () => {} },
    watermark: async () => nextSeq,
    stored: () => 1,
    checkWritten: async () => {},
    expiryMicros: () => Date.now() * 1000,
    engineStarts: () => 0,
  });
  await watch.start();
  await eventually('the ledger to be refused', async () => (failures > 0 ? true : undefined));
  await rm(obstacle, { recursive: true });
  await watch.stop();
  const text = await readFile(join(dataDir, 'ledger.json'), 'utf8');
  assert.ok(text.includes(`"through":"${nextSeq - 1n}"`));
});

test('what is stored before the watermark has passed it is counted once that has', async () => {
  const early = nextSeq;
  await store(9);
  let asked = 0;
  const watch = await watched(async () => (asked++ === 0 ? early : nextSeq));
  assert.equal(asked, 2);
  await watch.stop();
});

test('a part is not whole when a file of it is shorter than the engine believes', async () => {
  await storage.command('SYSTEM STOP MERGES events');
  const written = new WrittenParts(storage);
  await store(3000);
  assert.deepEqual(await written.findBroken(), []);
  const known = new Set((await parts()).map(({ name }) => name));
  await store(2000);
  await store(1000);
  const [first, second] = (await parts()).filter(({ name }) => !known.has(name));
  await truncate(join(first?.path ?? '', 'data.bin'), 500);
  await truncate(join(second?.path ?? '', 'checksums.txt'), 0);
  const broken = [first, second].map((part) => `events/${part?.name}`);
  assert.deepEqual(new Set(await written.findBroken()), new Set(broken));
  await written.trustLoaded();
  assert.deepEqual(await written.findBroken(), []);
});

async function isStopped(pid: number): Promise<true | undefined> {
  const states = await Promise.all(
    (await readdir(`/proc/${pid}/task`)).map((id) => readFile(`/proc/${pid}/task/${id}/stat`, 'utf8')),
  );
  return states.every((stat) => /\) T /.test(stat)) || undefined;
}

test('a stop does not wait for an engine that does not answer', async () => {
  const watch = new PartsWatch({
    storage,
    dataDir,
    damage: new DamageRegister(),
    log: silentLog,
    watermark: async () => {
      await storage.rows('SELECT 1');
      return nextSeq;
    },
    stored: () => 1,
    checkWritten: async () => {},
    expiryMicros: () => Date.now() * 1000,
    engineStarts: () => 0,
  });
  const pid = engine.pid() ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    // On a busy machine its threads run on for a moment, and could answer.
    await eventually('the engine to stop', () => isStopped(pid));
    // Its first turn asks at once, and in vain.
    await watch.start();
    const question = storage.rows('SELECT 1').catch(() => undefined);
    const first = await Promise.race([
      watch.stop().then(() => 'the watch'),
      question.then(() => 'a question'),
    ]);
    assert.equal(first, 'the watch');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});
