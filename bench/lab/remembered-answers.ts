import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/base/observability/log.ts';
import { FifoMap } from '../../src/base/waiting/fifo-map.ts';
import { AnswerFiles } from '../../src/ingest/answer-files.ts';
import { type Entry, keptOf } from '../../src/ingest/answer-records.ts';
import { type LogFiles, openLogFiles } from '../../src/ingest/files.ts';
import { Idempotency } from '../../src/ingest/idempotency.ts';

/** `remembered-answers.js [KEYS]`: cost of this number of remembered answers at a start, and of each. */
const keys = Number(process.argv[2] ?? 1_000_000);
const root = await mkdtemp(join(tmpdir(), 'auditlog-answers-'));
const log = createLogger('silent');

function entry(): Entry {
  const id = randomBytes(16).toString('base64url');
  return { id, body: id, at: Date.now(), answer: { accepted: 100, rejected: 0, errors: [] } };
}

/** Files as a server leaves them. */
async function fill(folder: LogFiles): Promise<void> {
  const hour = Math.floor(Date.now() / 3_600_000);
  const files = await AnswerFiles.open(folder, 'answers', Number.POSITIVE_INFINITY);
  for (let from = 0; from < keys; from += 100_000)
    await files.append(hour, Array.from({ length: 100_000 }, entry).flatMap(keptOf));
}

async function measured<T>(what: string, units: number, work: () => T | Promise<T>): Promise<T> {
  const [cpu, start, memory] = [process.cpuUsage(), performance.now(), process.memoryUsage.rss()];
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  const facts = {
    ms: Math.round(performance.now() - start),
    processorMs: Math.round((user + system) / 1000),
    processorNsEach: Math.round(((user + system) * 1000) / units),
    rssMegabytesMore: Math.round((process.memoryUsage.rss() - memory) / 1e6),
  };
  process.stdout.write(`${what}: ${JSON.stringify(facts)}\n`);
  return result;
}

async function open(name: string): Promise<Idempotency> {
  return Idempotency.open(await openLogFiles(join(root, name)), Date.now, log);
}

try {
  await fill(await openLogFiles(join(root, 'full')));
  await measured('start with none', 1, () => open('empty'));
  const memory = await measured(`start with ${keys}`, keys, () => open('full'));

  const more = Array.from({ length: 100_000 }, entry);
  const notes = more.map((one) => JSON.stringify(one));
  const map = new FifoMap<Entry>();
  const bodyOf = (id: string): string | undefined => map.get(id)?.body;
  for (const round of ['first', 'second', 'third']) {
    process.stdout.write(`${round} round, ${memory.size} keys\n`);
    await measured('recall what is not there', more.length, () => {
      for (const { body } of more) memory.recall(body.replace(/^./, '_'), body);
    });
    await measured('remember', more.length, () => {
      for (const note of notes) memory.remember(note);
    });
    await measured('recall', more.length, () => {
      for (const { id, body } of more) memory.recall(id, body);
    });
    await measured('remember as objects of a map', more.length, () => {
      for (const note of notes) {
        const one = JSON.parse(note) as Entry;
        map.set(one.id, one);
      }
    });
    await measured('recall from a map', more.length, () => more.every(({ id, body }) => bodyOf(id) === body));
  }
} finally {
  await rm(root, { recursive: true });
}
