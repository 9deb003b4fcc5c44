import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { JournalEvents, type RefusedEvent } from '../../src/control/journal-events.ts';
import type { JournalRow } from '../../src/control/journal.ts';
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
    });
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
    });
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
