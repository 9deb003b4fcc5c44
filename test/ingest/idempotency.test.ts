import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { renderMetrics } from '../../src/base/observability/metrics.ts';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type LogFiles, openLogFiles } from '../../src/ingest/files.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { limits } from '../../src/ingest/limits.ts';
import type { BatchAnswer } from '../../src/ingest/answer-records.ts';
import { Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
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

const sent = (text: string): string => sentOf(text, 'json');

/** Notes of an answer to a key of the API key `k`, whose body is its name. */
function noteOf(memory: Idempotency, key: string, given = answer): Buffer {
  return Buffer.from(memory.notes(memory.id('k', key), sent(key), given));
}

function recalled(memory: Idempotency, key: string): BatchAnswer | 'other' | undefined {
  return memory.recall(memory.id('k', key), sent(key));
}

function withErrors(bytes: number): BatchAnswer {
  return { ...answer, errors: [{ index: 0, error: 'e'.repeat(bytes) }] };
}

async function bytesOf(files: LogFiles): Promise<number> {
  let bytes = 0;
  for (const name of await files.list()) bytes += (await files.read(name)).length;
  return bytes;
}

/** The metric's value. */
async function forgotten(): Promise<number> {
  return Number(/^auditlog_idempotency_forgotten_total (\d+)$/m.exec(await renderMetrics())?.[1] ?? 0);
}

describe('remembered answers', () => {
  it('survive a power cut once they are kept, for 24 hours and no longer', async () => {
    let now = Date.UTC(2026, 3, 1, 12, 30);
    const files = disk();
    const memory = await Idempotency.open(files.files, () => now, silentLog);
    await Promise.all(['a', 'b', 'c'].map((key) => memory.keep([noteOf(memory, key)])));

    now += 23 * hourMs;
    const found = files.afterPowerCut();
    const later = await Idempotency.open(found, () => now, silentLog);
    for (const key of ['a', 'b', 'c']) assert.deepEqual(recalled(later, key), answer);
    now += hourMs;
    assert.equal(recalled(later, 'a'), undefined);
    now += 2 * hourMs;
    const last = await Idempotency.open(found, () => now, silentLog);
    assert.equal(last.size, 0);
    assert.deepEqual(await found.list(), []);
  });

  it('are read up to the end that a crash has torn, wherever that is, and written behind none', async () => {
    const whole = disk().files;
    const memory = await Idempotency.open(whole, Date.now, silentLog);
    for (const key of ['a', 'b', 'c']) await memory.keep([noteOf(memory, key)]);
    const contents = new Map<string, Buffer>();
    for (const name of await whole.list()) contents.set(name, await whole.read(name));
    assert.deepEqual([...contents.keys()].map((name) => name.replace(/^\d+\./, '')).sort(), [
      '0.answers',
      '0.errors',
    ]);
    for (const [torn, content] of contents) {
      const line = content.length / 3;
      for (let length = 0; length <= content.length; length++) {
        const { files } = disk();
        for (const [name, bytes] of contents) {
          const file = await files.create(name);
          await file.append([name === torn ? bytes.subarray(0, length) : bytes]);
          await file.close();
        }
        const lines: string[] = [];
        const told = { ...silentLog, warn: (_facts: object, words: string) => lines.push(words) };
        const again = await Idempotency.open(files, Date.now, told);
        // A line that lacks only its line feed is complete.
        assert.equal(
          lines.length,
          [0, line - 1].includes(length % line) ? 0 : 1,
          `${torn} ${length} ${line}`,
        );
        await again.keep([noteOf(again, 'd')]);
        const last = await Idempotency.open(files, Date.now, silentLog);
        for (const [n, key] of ['a', 'b', 'c'].entries()) {
          const isWhole = length >= line * (n + 1) - 1;
          const without = torn.endsWith('errors') ? { ...answer, errors: [] } : undefined;
          assert.deepEqual(recalled(last, key), isWhole ? answer : without, `${torn} of ${length} bytes`);
        }
        assert.deepEqual(recalled(last, 'd'), answer);
      }
    }
  });

  it('are written to another file after a write that failed', async () => {
    for (let fault = 1; fault < 12; fault++) {
      const faultAt = new Set([fault]);
      const torn = createTornFiles({ cutAfter: Number.MAX_SAFE_INTEGER, faultAt, random: Math.random });
      const memory = await Idempotency.open(torn.files, Date.now, silentLog);
      for (const key of ['a', 'b', 'c'])
        while (
          await memory.keep([noteOf(memory, key)]).then(
            () => false,
            () => true,
          )
        );
      const again = await Idempotency.open(torn.afterPowerCut(), Date.now, silentLog);
      for (const key of ['a', 'b', 'c']) assert.deepEqual(recalled(again, key), answer, `fault ${fault}`);
    }
  });

  it('are kept in files that are bounded together', async () => {
    const { files } = disk();
    const mebibyte = 1024 * 1024;
    const bounds = { ...limits, idempotencyErrorsBytesMax: 8 * mebibyte };
    const memory = await Idempotency.open(files, Date.now, silentLog, bounds);
    for (let n = 0; n < 30; n++) await memory.keep([noteOf(memory, `${n}`, withErrors(mebibyte * 0.9))]);
    const bytes = await bytesOf(files);
    assert.ok(
      bytes <= bounds.idempotencyErrorsBytesMax + limits.idempotencyFileBytesMax * 2,
      `${bytes} bytes`,
    );
    const again = await Idempotency.open(files, Date.now, silentLog, bounds);
    assert.deepEqual(recalled(again, '29'), withErrors(mebibyte * 0.9));
    // Without room for errors the request is still not stored twice.
    assert.deepEqual(recalled(again, '0'), { ...answer, errors: [] });
    assert.equal(again.size, 30);
  });

  it('of a file that is larger than a string, or all damaged, make no start impossible', async () => {
    const directory = await temporaryDirectory();
    const file = await open(join(directory, `${Math.floor(Date.now() / hourMs)}.0.answers`), 'w');
    // Half a gigabyte of zeros takes no disk space.
    await file.write('the end', 2 ** 29 + 24 * 1024 * 1024);
    await file.close();
    const lines: string[] = [];
    const told = { ...silentLog, warn: (_facts: object, words: string) => lines.push(words) };
    const files = await openLogFiles(directory);
    const memory = await Idempotency.open(files, Date.now, told);
    assert.match(lines.join(), /Skipped the torn end of a file of remembered answers/);
    await memory.keep([noteOf(memory, 'a')]);
    const again = await Idempotency.open(files, Date.now, silentLog);
    assert.deepEqual(recalled(again, 'a'), answer);
    await removeDirectory(directory);
  });

  it('behind damage in a file are intact, and the damage is reported', async () => {
    for (const kind of ['answers', 'errors'])
      for (const at of [0, 5, 9, 40]) {
        const { files } = disk();
        const memory = await Idempotency.open(files, Date.now, silentLog);
        for (const key of ['a', 'b', 'c']) await memory.keep([noteOf(memory, key)]);
        const [name = ''] = (await files.list()).filter((one) => one.endsWith(kind));
        const bytes = await files.read(name);
        // The second line: its sum, a space, its id, its text.
        const byte = bytes.indexOf('\n') + 1 + at;
        bytes.writeUInt8(bytes.readUInt8(byte) ^ 0x81, byte);
        await files.remove(name);
        const file = await files.create(name);
        await file.append([bytes]);
        await file.close();
        const lines: string[] = [];
        const told = { ...silentLog, error: (_facts: object, words: string) => lines.push(words) };
        const again = await Idempotency.open(files, Date.now, told);
        const damaged = kind === 'answers' ? undefined : { ...answer, errors: [] };
        const found = ['a', 'b', 'c'].map((key) => recalled(again, key));
        assert.deepEqual(found, [answer, damaged, answer], `${kind}, byte ${at}`);
        assert.match(lines.join(), /^A file of remembered answers is damaged/);
      }
  });

  it('of a segment that waited for over 24 hours hide nothing that was answered since', async () => {
    let now = Date.UTC(2026, 3, 1, 12, 30);
    const own = disk().files;
    const memory = await Idempotency.open(own, () => now, silentLog);
    const waiting = noteOf(memory, 'daily', withErrors(20));
    now += 25 * hourMs;
    const late = withErrors(10);
    const note = noteOf(memory, 'daily', late);
    memory.remember(note.toString());
    await memory.keep([note]);
    // As a start does with answers in the log.
    memory.remember(waiting.toString());
    assert.deepEqual(recalled(memory, 'daily'), late);
    await memory.keep([waiting]);
    for (const one of [memory, await Idempotency.open(own, () => now, silentLog)])
      assert.deepEqual(recalled(one, 'daily'), late);
  });

  it('count keys and errors that are forgotten early', async () => {
    const lines: string[] = [];
    const told = { ...silentLog, warn: (_facts: object, words: string) => lines.push(words) };
    const bounds = {
      ...limits,
      idempotencyKeysMax: 5,
      idempotencyErrorsBytesMax: 9_000,
    };
    const memory = await Idempotency.open(disk().files, Date.now, told, bounds);
    const before = await forgotten();
    const plain = { accepted: 1, rejected: 0, errors: [] };
    for (let n = 0; n < 9; n++) memory.remember(noteOf(memory, `${n}`, plain).toString());
    assert.equal((await forgotten()) - before, 4);
    assert.equal(memory.size, 5);
    for (let n = 0; n < 3; n++) memory.remember(noteOf(memory, `long ${n}`, withErrors(4_000)).toString());
    // A key for each, and the errors of one.
    assert.equal((await forgotten()) - before, 8);
    assert.deepEqual(recalled(memory, 'long 0'), { ...answer, errors: [] });
    assert.deepEqual(recalled(memory, 'long 1'), withErrors(4_000));
    const huge = noteOf(memory, 'huge', withErrors(limits.idempotencyPartBytesMax));
    memory.remember(huge.toString());
    await memory.keep([huge]);
    // Its errors, and one key.
    assert.equal((await forgotten()) - before, 10);
    assert.deepEqual(recalled(memory, 'huge'), { ...answer, errors: [] });
    assert.deepEqual(lines.length, 1);
    assert.match(lines[0] ?? '', /the oldest answers were forgotten within 24 hours/);
  });

  it('come back whole with as many errors as one can ask for', async () => {
    const { files } = disk();
    const memory = await Idempotency.open(files, Date.now, silentLog);
    const errors = Array.from({ length: 10_000 }, (_, index) => ({
      index,
      error: `/actor: ${'e'.repeat(300)}`,
    }));
    const many = { accepted: 1, rejected: errors.length, errors };
    await memory.keep([noteOf(memory, 'small', withErrors(10)), noteOf(memory, 'many', many)]);
    const again = await Idempotency.open(files, Date.now, silentLog);
    assert.deepEqual(recalled(again, 'many'), many);
    assert.deepEqual(recalled(again, 'small'), withErrors(10));
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
    // If each end woke all waiting requests, it would take 64 times as long.
    assert.ok((await millisecondsOf(8000)) < few * 24);
  });
});
