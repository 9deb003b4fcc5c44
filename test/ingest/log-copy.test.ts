import { strict as assert } from 'node:assert';
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { blocksOf } from '../../src/ingest/answer-files.ts';
import { decodeErrors, recordBytes, timeOf } from '../../src/ingest/answer-records.ts';
import { AnswerStore } from '../../src/ingest/answer-store.ts';
import { sentOf } from '../../src/ingest/idempotency.ts';
import { HeldLog, LogMaker, readAnswers } from '../../src/ingest/log-copy.ts';
import { segmentName } from '../../src/ingest/segment.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { rounds } from '../support/rounds.ts';
import { frameOf, randomOf, rowsOf } from './log-support.ts';

const log = createLogger('silent');
let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'auditlog-log-copy-'));
});
after(() => rm(root, { recursive: true, force: true }));

async function openWal(dataDir: string, damage = new DamageRegister()): Promise<Wal> {
  const files = await openLogFiles(join(dataDir, 'wal'));
  const bounds = { segmentBytes: 4000, bytesMax: 1e9, largeBytes: 2500 };
  return Wal.open({ files, log, ...bounds, nowMs: Date.now, damage });
}

async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What a log at work has acknowledged, and what of it has gone to the table, by segment and place in it. */
class LogAtWork {
  readonly acknowledged = new Map<number, number>();
  readonly table = new Map<number, Set<number>>();
  readonly #wal: Wal;
  readonly #random: () => number;
  isStopped = false;
  #next = 0;

  constructor(wal: Wal, random: () => number) {
    this.#wal = wal;
    this.#random = random;
  }

  async produce(): Promise<void> {
    while (!this.isStopped) {
      const ids = Array.from({ length: 1 + Math.floor(this.#random() * 5) }, () => (this.#next += 1));
      const segment = await this.#wal.append([frameOf(ids, Math.floor(this.#random() * 4000))]);
      for (const id of ids) this.acknowledged.set(id, segment);
    }
  }

  async store(): Promise<void> {
    while (!this.isStopped) {
      await this.#wal.seal();
      for (const segment of this.#wal.sealed().slice()) {
        const ids = (await rowsOf(this.#wal, segment)).map(([, id]) => id);
        this.table.set(segment.number, new Set(ids));
        await this.#wal.release(segment);
      }
    }
  }
}

test('a copy of a log at work has all that was acknowledged before and is not in the table, once, and starts undamaged', async () => {
  const random = randomOf(20_261_122);
  const wal = await openWal(join(root, 'source'));
  const work = new LogAtWork(wal, random);
  const working = Promise.all([work.produce(), work.produce(), work.store()]);
  for (let round = 0; round < rounds(12, 300); round += 1) {
    await sleep(random() * 20);
    // Files go between being listed and being opened.
    for (let n = 0; n < 40; n += 1) await (await HeldLog.open(join(root, 'source'))).close();
    const acknowledged = [...work.acknowledged.keys()];
    const held = await HeldLog.open(join(root, 'source'));
    const last = held.segments.at(-1) ?? 0;
    const left = new Set([...held.segments, ...held.unfinished]);
    const target = join(root, `copy-${round}`);
    await mkdir(target);
    const maker = await LogMaker.begin(target);
    for (const number of held.segments) {
      // While these are read, most of them are removed.
      await sleep(random() * 3);
      const { file, ...facts } = await held.read(number);
      assert.equal(facts.isDamaged, false);
      if (facts.rows > 0) await maker.segment(facts, of(file));
    }
    await held.close();
    await maker.finish(last);

    const damage = new DamageRegister();
    const copied = await openWal(target, damage);
    assert.deepEqual(damage.list(), []);
    const inLog = (await Promise.all(copied.sealed().map((one) => rowsOf(copied, one)))).flat();
    const ids = inLog.map(([, id]) => id);
    assert.ok(copied.lastRecovered > last);
    await copied.close();
    // As a backup takes it: the table up to the newest segment, without those that were listed.
    const inTable = [...work.table].flatMap(([number, some]) =>
      number <= last && !left.has(number) ? [...some] : [],
    );
    const all = [...ids, ...inTable];
    assert.equal(new Set(all).size, all.length, 'a row is there twice');
    const there = new Set(all);
    const absent = acknowledged.filter((id) => !there.has(id));
    assert.deepEqual(absent, [], `round ${round}`);
  }
  work.isStopped = true;
  await working;
  await wal.close();
});

test('a damaged segment is copied as it is, and its copy tells of the damage', async () => {
  const source = join(root, 'damaged');
  const wal = await openWal(source);
  const number = await wal.append([frameOf([1, 2], 100)]);
  await wal.append([frameOf([3], 100)]);
  await wal.close();
  const path = join(source, 'wal', segmentName(number));
  const files = await openLogFiles(join(source, 'wal'));
  const content = await files.read(segmentName(number));
  content[content.indexOf('FRAM', 40) + 70] = 255;
  await writeFile(path, content);
  await writeFile(join(source, 'wal', segmentName(1).replace('wal', 'refused')), 'kept');

  const held = await HeldLog.open(source);
  assert.deepEqual(held.kept, [segmentName(1).replace('wal', 'refused')]);
  const { file, ...facts } = await held.read(number);
  assert.deepEqual([facts.isDamaged, facts.rows, file.length], [true, 1, content.length]);
  const target = join(root, 'damaged-copy');
  const maker = await LogMaker.begin(target);
  await maker.segment(facts, of(file));
  await maker.finish(number);
  await held.close();
  const damage = new DamageRegister();
  const copied = await openWal(target, damage);
  assert.equal(damage.list().length, 1);
  assert.deepEqual((await rowsOf(copied, copied.sealed()[0] ?? assert.fail())).flat(), [2, 3]);
  await copied.close();
});

test('what a crash cut short at the end of a log is not copied, and a log that gets new numbers is refused', async () => {
  const source = join(root, 'torn');
  const wal = await openWal(source);
  const number = await wal.append([frameOf([7], 50)]);
  await wal.close();
  const path = join(source, 'wal', segmentName(number));
  await appendFile(path, 'FRAM and no more');
  const held = await HeldLog.open(source);
  const { file, rows, isDamaged } = await held.read(number);
  assert.deepEqual([rows, isDamaged, file.includes('and no more')], [1, false, false]);
  await held.close();
  await writeFile(join(source, 'wal', 'renumbering'), '{}');
  await assert.rejects(() => HeldLog.open(source), /start the server on it once/);
  assert.deepEqual((await HeldLog.open(join(root, 'none'))).segments, []);
});

/** The answers and errors that a data directory gives out, as their times. */
async function answersIn(
  directory: string,
  beforeMs: number,
): Promise<{ answers: number[]; errors: number[] }> {
  const found = { answers: [] as number[], errors: [] as number[] };
  for await (const blocks of blocksOf(readAnswers(directory, beforeMs), assert.fail))
    for (const { kind, content } of blocks) {
      if (kind === 'errors') found.errors.push(...[...decodeErrors(content)].map(({ at }) => at));
      else for (let at = 0; at < content.length; at += recordBytes) found.answers.push(timeOf(content, at));
    }
  return found;
}

test('answers are those to requests before a moment, without a block that was cut short', async () => {
  const directory = join(root, 'answers');
  const folder = join(directory, 'idempotency');
  const store = await AnswerStore.open(await openLogFiles(folder), Date.now);
  const [id, body] = [sentOf('an id', ''), sentOf('a body', '')];
  const entry = (at: number, errors = [{ index: 0, error: 'bad' }]) => ({
    id,
    body,
    at,
    answer: { accepted: 1, rejected: errors.length, errors },
  });
  await store.keep([entry(1), entry(5, []), entry(9)]);
  for (const name of await readdir(folder)) await appendFile(join(folder, name), 'ANSW, and no more');
  assert.deepEqual(await answersIn(directory, 9), { answers: [1, 5], errors: [1] });
  assert.deepEqual(await answersIn(root, 9), { answers: [], errors: [] });

  const copied = join(root, 'with-answers');
  const maker = await LogMaker.begin(copied);
  await maker.answers(readAnswers(directory, 9));
  assert.deepEqual(await answersIn(copied, 9), { answers: [1, 5], errors: [1] });
  await assert.rejects(maker.answers(of(Buffer.from('{"id":1}'))), /cannot be read/);
});
