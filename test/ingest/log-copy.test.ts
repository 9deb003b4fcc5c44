import { strict as assert } from 'node:assert';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { segmentAtTime } from '../../src/base/events/sequence.ts';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { keptIn } from '../../src/ingest/answer-files.ts';
import { hasErrors, keptOf, timeOf } from '../../src/ingest/answer-records.ts';
import { AnswerStore } from '../../src/ingest/answer-store.ts';
import { sentOf } from '../../src/ingest/idempotency.ts';
import { eventsInLog, makeLog, readAnswers, removeLog } from '../../src/ingest/log-copy.ts';
import { segmentName } from '../../src/ingest/segment.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { eventually } from '../support/http.ts';
import { frameOf } from './log-support.ts';

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

test('events in a log are counted by segment until they are in the table, damaged ones too', async () => {
  const source = join(root, 'source');
  const wal = await openWal(source);
  assert.deepEqual(await eventsInLog(source), new Map());
  const number = await wal.append([frameOf([1, 2], 100)]);
  assert.deepEqual(await eventsInLog(source), new Map([[number, 2]]));
  await wal.seal();
  for (const segment of wal.sealed().slice()) await wal.release(segment);
  const second = await wal.append([frameOf([3], 100)]);
  await eventually('the segment is gone', async () =>
    (await eventsInLog(source)).has(number) ? undefined : true,
  );
  await wal.close();
  const path = join(source, 'wal', segmentName(second));
  const content = await readFile(path);
  content[content.indexOf('FRAM', 40) + 70] = 255;
  await writeFile(path, content);
  assert.ok((await eventsInLog(source)).has(second));
  assert.deepEqual(await eventsInLog(join(root, 'none')), new Map());
});

/** Answers and errors of a data directory, by their times. */
async function answersIn(
  directory: string,
  beforeMs: number,
): Promise<{ answers: number[]; errors: number[] }> {
  const found = { answers: [] as number[], errors: [] as number[] };
  for await (const kept of keptIn(readAnswers(directory, beforeMs), assert.fail))
    for (const [, text] of kept) found[hasErrors(text) ? 'errors' : 'answers'].push(timeOf(text));
  return found;
}

test('answers are those to requests before a moment, without a line that was cut short', async () => {
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
  await store.keep([entry(1), entry(5, []), entry(9)].flatMap(keptOf));
  for (const name of await readdir(folder)) await appendFile(join(folder, name), '0badc0de and no more');
  assert.deepEqual(await answersIn(directory, 9), { answers: [1, 5], errors: [1] });
  assert.deepEqual(await answersIn(root, 9), { answers: [], errors: [] });

  const copied = join(root, 'with-answers');
  const after = segmentAtTime(Date.now() + 3_600_000);
  await makeLog(copied, readAnswers(directory, 9), after);
  assert.deepEqual(await answersIn(copied, 9), { answers: [1, 5], errors: [1] });
  const damage = new DamageRegister();
  const wal = await openWal(copied, damage);
  assert.deepEqual(damage.list(), []);
  assert.ok((await wal.append([frameOf([1], 50)])) > after);
  await wal.close();
  await removeLog(copied);
  assert.deepEqual(await readdir(copied), []);
  await assert.rejects(makeLog(copied, of(Buffer.from('{"id":1}')), 0), /are damaged/);
});
