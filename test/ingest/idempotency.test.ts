import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { createHash } from 'node:crypto';
import { renderMetrics } from '../../src/base/metrics.ts';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type LogFiles, openLogFiles } from '../../src/ingest/files.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { limits } from '../../src/ingest/limits.ts';
import { type BatchAnswer, Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
import { silentLog } from '../support/engine.ts';
import { createTornFiles } from '../support/torn-files.ts';

const answer: BatchAnswer = {
  accepted: 2,
  rejected: 1,
  errors: [{ index: 1, error: '/message: is required' }],
};
const hourMs = 3_600_000;

function disk() {
  return createTornFiles({ cutAfter: Number.MAX_SAFE_INTEGER, random: Math.random });
}

/** Notes as they are in a file. */
function note(key: string): string {
  const id = createHash('sha256').update('k').update('\0').update(key).digest('base64url');
  return JSON.stringify({ id, body: key, at: Date.now(), answer });
}

async function bytesOf(files: LogFiles): Promise<number> {
  let bytes = 0;
  for (const name of await files.list()) bytes += (await files.read(name)).length;
  return bytes;
}

/** Of the metric. */
async function forgotten(): Promise<number> {
  return Number(/^auditlog_idempotency_forgotten_total (\d+)$/m.exec(await renderMetrics())?.[1] ?? 0);
}

describe('remembered answers', () => {
  it('come back for the same key and body, and tell another body apart', async () => {
    const memory = await Idempotency.open(disk().files, Date.now, silentLog);
    const id = memory.id('key-1', 'batch 7');
    assert.equal(memory.recall(id, 'hash'), undefined);
    memory.remember(memory.notes(id, 'hash', answer));
    assert.deepEqual(memory.recall(id, 'hash'), answer);
    assert.equal(memory.recall(id, 'other hash'), 'other');
    assert.equal(memory.recall(memory.id('key-2', 'batch 7'), 'hash'), undefined);
    assert.equal(memory.recall(memory.id('key-1batch', ' 7'), 'hash'), undefined);
  });

  it('tell the same body as something else apart', async () => {
    const memory = await Idempotency.open(disk().files, Date.now, silentLog);
    const asJson = sentOf('hash', 'json');
    const others = [
      sentOf('hash', 'ndjson'),
      sentOf('hash', 'json', 'okta'),
      sentOf('hash', 'json', 'github'),
      sentOf('hash', 'json', undefined, 'acme'),
      sentOf('hash', 'json', 'github', 'acme'),
    ];
    memory.remember(memory.notes(memory.id('key-1', 'batch 7'), asJson, answer));
    memory.remember(memory.notes(memory.idOfContent('key-1', asJson), asJson, answer));
    for (const other of others) {
      assert.equal(memory.recall(memory.id('key-1', 'batch 7'), other), 'other');
      assert.equal(memory.recall(memory.idOfContent('key-1', other), other), undefined);
    }
    assert.deepEqual(memory.recall(memory.idOfContent('key-1', asJson), asJson), answer);
  });

  it('survive a power cut once they are kept, for 24 hours and no longer', async () => {
    let now = Date.UTC(2026, 3, 1, 12, 30);
    const files = disk();
    const memory = await Idempotency.open(files.files, () => now, silentLog);
    const notes = ['a', 'b', 'c'].map((key) => memory.notes(memory.id('k', key), key, answer));
    await Promise.all(notes.map((note) => memory.keep([Buffer.from(note)])));

    now += 23 * hourMs;
    const found = files.afterPowerCut();
    const later = await Idempotency.open(found, () => now, silentLog);
    for (const key of ['a', 'b', 'c']) assert.deepEqual(later.recall(later.id('k', key), key), answer);
    now += hourMs;
    assert.equal(later.recall(later.id('k', 'a'), 'a'), undefined);
    now += 2 * hourMs;
    const last = await Idempotency.open(found, () => now, silentLog);
    assert.equal(last.size, 0);
    assert.deepEqual(await found.list(), []);
  });

  it('are read past a line that a crash cut short', async () => {
    const files = disk();
    const memory = await Idempotency.open(files.files, Date.now, silentLog);
    const note = (key: string): Buffer => Buffer.from(memory.notes(memory.id('k', key), key, answer));
    await memory.keep([note('a'), note('b').subarray(0, 30)]);
    await memory.keep([note('c')]);
    const again = await Idempotency.open(files.files, Date.now, silentLog);
    assert.deepEqual(again.recall(again.id('k', 'a'), 'a'), answer);
    assert.equal(again.recall(again.id('k', 'b'), 'b'), undefined);
    assert.deepEqual(again.recall(again.id('k', 'c'), 'c'), answer);
  });

  it('are kept in files that are bounded together, and a start reads the newest of them in pieces', async () => {
    const files = disk().files;
    const long = { ...answer, errors: [{ index: 0, error: 'e'.repeat(1024 * 1024) }] };
    const memory = await Idempotency.open(files, Date.now, silentLog);
    const count = limits.idempotencyFilesBytesMax / (1024 * 1024) + 30;
    for (let i = 0; i < count; i++) await memory.keep([Buffer.from(memory.notes(`id ${i}`, 'hash', long))]);
    const bytes = await bytesOf(files);
    assert.ok(
      bytes <= limits.idempotencyFilesBytesMax + limits.idempotencyFileBytesMax * 2,
      `${bytes} bytes`,
    );
    const again = await Idempotency.open(files, Date.now, silentLog);
    assert.equal(again.recall('id 0', 'hash'), undefined);
    assert.deepEqual(again.recall(`id ${count - 1}`, 'hash'), long);
    assert.ok(again.size > count - 60);
  });

  it('of a file that is larger than a string make no start impossible', async () => {
    const directory = await temporaryDirectory();
    const file = await open(join(directory, `${Math.floor(Date.now() / hourMs)}.answers`), 'w');
    // Half a gigabyte of nothing costs the disk nothing.
    await file.write(`\n${note('newest')}\n${note('last')}`, 2 ** 29 + 24 * 1024 * 1024);
    await file.close();
    const lines: string[] = [];
    const told = { ...silentLog, warn: (_facts: object, words: string) => lines.push(words) };
    const files = await openLogFiles(directory);
    const memory = await Idempotency.open(files, Date.now, told);
    assert.deepEqual(memory.recall(memory.id('k', 'last'), 'last'), answer);
    assert.deepEqual(memory.recall(memory.id('k', 'newest'), 'newest'), answer);
    assert.match(lines.join(), /more answers .* than are remembered: some are not read/);
    // Another process may take it over.
    const other = await Idempotency.open(disk().files, Date.now, silentLog);
    await other.adopt(files);
    assert.equal(other.size, 2);
    await removeDirectory(directory);
  });

  it('tell how many are forgotten before their time', async () => {
    const lines: string[] = [];
    const told = { ...silentLog, warn: (_facts: object, words: string) => lines.push(words) };
    const memory = await Idempotency.open(disk().files, Date.now, told);
    const long = { ...answer, errors: [{ index: 0, error: 'e'.repeat(limits.idempotencyBytesMax / 4) }] };
    const before = await forgotten();
    for (let i = 0; i < 8; i++) memory.remember(memory.notes(`id ${i}`, 'hash', long));
    assert.equal((await forgotten()) - before, 8 - memory.size);
    assert.deepEqual(lines.length, 1);
    assert.match(lines[0] ?? '', /the oldest are forgotten before 24 hours have passed/);
  });

  it('are kept though somebody takes their files away meanwhile', async () => {
    const { files } = disk();
    const memory = await Idempotency.open(files, Date.now, silentLog);
    await memory.keep([Buffer.from(note('a'))]);
    for (const name of await files.list()) await files.remove(name);
    await memory.keep([Buffer.from(note('b'))]);
    const again = await Idempotency.open(files, Date.now, silentLog);
    assert.deepEqual(again.recall(again.id('k', 'b'), 'b'), answer);
  });

  it('let one request of a key run at a time, also after a failure', async () => {
    const memory = await Idempotency.open(disk().files, Date.now, silentLog);
    let running = 0;
    const work = async (fails: boolean): Promise<number> => {
      assert.equal(++running, 1, 'two at once');
      await new Promise((resolve) => setTimeout(resolve, 2));
      running -= 1;
      if (fails) throw new Error('no');
      return 1;
    };
    const all = await Promise.allSettled(
      [...Array(20).keys()].map((n) => memory.exclusively('id', () => work(n % 3 === 0))),
    );
    assert.equal(all.filter(({ status }) => status === 'rejected').length, 7);
  });

  it('cost no more for each of many requests of a key that wait than for each of a few', async () => {
    const memory = await Idempotency.open(disk().files, Date.now, silentLog);
    const millisecondsOf = async (requests: number): Promise<number> => {
      const before = process.cpuUsage();
      const work = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      await Promise.all(Array.from({ length: requests }, () => memory.exclusively('id', work)));
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    const few = await millisecondsOf(1000);
    // Where each that ends wakes all that wait it is 64 times as much.
    assert.ok((await millisecondsOf(8000)) < few * 24);
  });

  it('stay within their bounds, the oldest going first', async () => {
    const memory = await Idempotency.open(disk().files, Date.now, silentLog);
    const long = { ...answer, errors: [{ index: 0, error: 'e'.repeat(1024 * 1024) }] };
    const count = Math.ceil(limits.idempotencyBytesMax / (1024 * 1024)) + 5;
    for (let i = 0; i < count; i++) memory.remember(memory.notes(`id ${i}`, 'hash', long));
    assert.ok(memory.size < count && memory.size > count - 20);
    assert.equal(memory.recall('id 0', 'hash'), undefined);
    assert.notEqual(memory.recall(`id ${count - 1}`, 'hash'), undefined);
  });
});
