import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { JournalEvents } from '../../src/control/journal-events.ts';
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
