import { strict as assert } from 'node:assert';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Remote, startRemote } from '../client/remote.ts';
import { patience } from '../support/patience.ts';
import { rounds, skippedForLength } from '../support/rounds.ts';
import { type Destination, spawnForward, startDestination, withDirectory } from './forward-support.ts';

/**
 * A real process killed with SIGKILL at random moments, again and again on the same checkpoint, while events come.
 * FORWARD_KILLS sets how often.
 */

const kills = Number(process.env['FORWARD_KILLS'] ?? rounds(2, 6));
const batch = 20;
/** However slow the machine, the last run can reach the end of them. */
const eventsMax = 2_000;

let remote: Remote;
let old: Remote;
let destination: Destination;
before(async () => {
  [remote, old, destination] = await Promise.all([
    startRemote(),
    startRemote({ feed: false }),
    startDestination(),
  ]);
});
after(() => Promise.all([remote.close(), old.close(), destination.close()]));
beforeEach(() => {
  for (const one of [remote, old]) {
    one.events.length = 0;
    one.requests.length = 0;
  }
  destination.bodies.length = 0;
});

/** Some of them late, by less than the overlap, and some at the same time. */
function writeEvents(to: Remote): () => void {
  const timer = setInterval(() => {
    for (let n = 0; n < 8 && to.events.length < eventsMax; n++) {
      const late = n % 4 === 0 ? 20_000_000 : 0;
      const time = Math.floor(Date.now() / 10) * 10_000 - late - 1;
      to.events.push({ time, more: `,"n":${to.events.length}` });
    }
  }, 5);
  return () => clearInterval(timer);
}

/** Runs and kills, then runs to the end without a kill. */
async function killedAgainAndAgain(from: Remote, args: readonly string[]): Promise<void> {
  const stopWriting = writeEvents(from);
  const common = ['--url', from.url, '--batch', String(batch), '--overlap', '1m', ...args];
  try {
    for (let round = 0; round < kills; round++) {
      const { child, ended } = spawnForward([...common, '--interval', '100ms']);
      const before = from.requests.length;
      // Mostly once it is at work; now and then while it starts.
      const deadline = performance.now() + (round % 6 === 5 ? 150 : patience(10_000));
      while (from.requests.length < before + 2 && performance.now() < deadline) await sleep(1);
      await sleep(Math.random() * 60);
      child.kill('SIGKILL');
      await ended;
    }
  } finally {
    stopWriting();
  }
  await sleep(20); // The last of them must be in the past.
  const last = spawnForward([...common, '--once']);
  assert.equal(await last.ended, 0, last.error());
}

const placesOf = (lines: readonly string[]) => lines.map((line) => Number(/"n":(\d+)/.exec(line)?.[1]));

/** Lines of the closed files in their order and of the one being written; every line must be whole. */
async function linesOfFiles(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('events'));
  const number = (name: string) => Number(name.split('.')[1] ?? Infinity);
  const lines: string[] = [];
  for (const name of names.sort((a, b) => number(a) - number(b))) {
    const text = await readFile(join(directory, name), 'utf8');
    assert.ok(text === '' || text.endsWith('\n'), name);
    lines.push(...text.split('\n').slice(0, -1));
  }
  for (const line of lines) JSON.parse(line);
  return lines;
}

/** Each way to read and each target once; all pairs with TEST_ROUNDS=many. */
const unlessLong = (isShort: boolean) => ({ skip: isShort ? false : skippedForLength });

describe('killed at random moments', () => {
  for (const mode of ['feed', 'pages'] as const) {
    test(`${mode} to files: each event is there once`, unlessLong(mode === 'feed'), () =>
      withDirectory(async (directory) => {
        const from = mode === 'feed' ? remote : old;
        const file = ['--to', `file:${join(directory, 'events')}`, '--rotate-bytes', '16KiB'];
        await killedAgainAndAgain(from, [...file, '--checkpoint', join(directory, 'checkpoint')]);
        const places = placesOf(await linesOfFiles(directory));
        const all = from.events.map((_, n) => n);
        assert.ok(all.length > 100);
        assert.deepEqual(mode === 'feed' ? places : places.sort((a, b) => a - b), all);
      }),
    );

    test(
      `${mode} to HTTP: none is lost, a kill repeats one batch at most, and with its ids`,
      unlessLong(mode === 'pages'),
      () =>
        withDirectory(async (directory) => {
          const from = mode === 'feed' ? remote : old;
          const args = ['--to', destination.url, '--format', 'elastic-bulk'];
          await killedAgainAndAgain(from, [...args, '--checkpoint', join(directory, 'checkpoint')]);
          const lines = destination.lines();
          const ids = lines.filter((_, index) => index % 2 === 0);
          const places = placesOf(lines.filter((_, index) => index % 2 === 1));
          assert.deepEqual(
            [...new Set(places)].sort((a, b) => a - b),
            from.events.map((_, n) => n),
          );
          assert.ok(places.length - from.events.length <= kills * batch);
          assert.equal(new Set(ids).size, from.events.length);
        }),
    );
  }
});
