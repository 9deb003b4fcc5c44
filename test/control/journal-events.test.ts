import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { JournalEvents, type RefusedEvent } from '../../src/control/journal-events.ts';
import { anyServer, type JournalRow } from '../../src/control/journal.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { emptyJournal, openDirectory, operatorCall } from '../support/control.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { sharedEngine } from '../support/shared.ts';

const rowAt = (place: number): JournalRow => ({
  place,
  digest: String(place).padStart(64, '0'),
  id: '0b7c4a52-6f0e-4c55-9c36-0f4a4c0d8f11',
  organization: undefined,
  server: undefined,
  parts: [],
  events: [`event ${place}`],
});

const nothingToTakeOver = () => assert.fail('no command wrote a row');

test('a start does not fail while the log takes nothing: the events are handed in order once it does', async () => {
  const dataDir = await temporaryDirectory();
  try {
    const { storage } = await sharedEngine();
    const options = { dataDir, storage, log: silentLog, server: undefined };
    const changes = await JournalEvents.open(options);
    for (const place of [1, 2]) changes.take(rowAt(place), true);
    let isFull = true;
    const stored: string[] = [];
    await changes.start(async (name) => {
      if (isFull) throw new Error('the disk is full');
      stored.push(name);
    }, nothingToTakeOver);
    assert.deepEqual([stored, changes.waiting, changes.mark.place], [[], 2, 0]);
    changes.take(rowAt(3), true);
    isFull = false;
    await eventually('all events', async () => (changes.mark.place === 3 ? true : undefined));
    assert.deepEqual(stored, ['journal-1', 'journal-2', 'journal-3']);
    await changes.stop();
    const again = await JournalEvents.open(options);
    for (const place of [1, 2, 3]) again.take(rowAt(place), false);
    assert.equal(again.waiting, 0, 'the mark names what was handed');
  } finally {
    await removeDirectory(dataDir);
  }
});

test('an event that can never be stored is reported, and holds neither those beside nor those behind it', async () => {
  const dataDir = await temporaryDirectory();
  try {
    const { storage } = await sharedEngine();
    const refused: RefusedEvent[] = [];
    const stored: string[][] = [];
    const changes = await JournalEvents.open({
      dataDir,
      storage,
      log: silentLog,
      server: undefined,
      refused: (event) => refused.push(event),
    });
    changes.take({ ...rowAt(1), events: ['good', 'bad', 'better'] }, true);
    for (const place of [2, 3]) changes.take(rowAt(place), true);
    let isFull = true;
    await changes.start(async (name, events) => {
      if (events.includes('bad')) throw new Problem('malformed', 'it is bad');
      if (isFull && name === 'journal-2') throw new Problem('unavailable', 'the disk is full');
      stored.push([name, ...events]);
    }, nothingToTakeOver);
    assert.deepEqual(refused, [{ place: 1, event: 2, reason: 'it is bad' }]);
    assert.equal(changes.waiting, 2, 'what may pass is waited for');
    isFull = false;
    await eventually('all events', async () => (changes.mark.place === 3 ? true : undefined));
    assert.deepEqual(stored, [
      ['journal-1-1', 'good'],
      ['journal-1-3', 'better'],
      ['journal-2', 'event 2'],
      ['journal-3', 'event 3'],
    ]);
    assert.equal(refused.length, 1);
    await changes.stop();
  } finally {
    await removeDirectory(dataDir);
  }
});

/** One of several servers on an engine, reduced to its journal. */
async function startServer(storage: Storage, server: string, dataDir: string, stored: string[]) {
  const changes = await JournalEvents.open({ dataDir, storage, log: silentLog, server });
  const directory = await openDirectory(storage, {
    server,
    mark: changes.mark,
    applied: (row, isOwn) => changes.take(row, isOwn),
  });
  await changes.start(
    async (_, events) => void stored.push(...events),
    (decide) => directory.change(operatorCall, decide),
  );
  return { changes, directory };
}

test('one of several servers takes over the events of a command, which may have been killed', async () => {
  const storage = await emptyJournal(await sharedEngine());
  const dataDirs = await Promise.all([temporaryDirectory(), temporaryDirectory()]);
  try {
    const command = await openDirectory(storage, { server: anyServer });
    const make = (slug: string) => command.change(operatorCall, createOrganization({ slug, name: slug }));
    await make('before');
    const stored: string[] = [];
    const ids = [randomUUID(), randomUUID()];
    const start = () =>
      Promise.all(dataDirs.map((dataDir, at) => startServer(storage, ids[at] ?? '', dataDir, stored)));
    const servers = await start();
    const made = async (n: number): Promise<void> => {
      await eventually('the event', async () => (stored.length >= n ? true : undefined));
      await Promise.all(servers.map(({ changes }) => changes.settled()));
      assert.equal(stored.length, n);
    };
    await made(1);
    await make('while-they-run');
    await Promise.all(servers.map(({ directory }) => directory.refresh()));
    await made(2);
    for (const { changes } of servers) await changes.stop();
    const again = await start();
    for (const { changes } of again) await changes.stop();
    assert.deepEqual(
      stored.map((event) => (JSON.parse(event) as { msg: string }).msg),
      ['Organization before created', 'Organization while-they-run created'],
    );
  } finally {
    await storage.close();
    await Promise.all(dataDirs.map(removeDirectory));
  }
});
