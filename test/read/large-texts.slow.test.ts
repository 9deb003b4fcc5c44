import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { text as readText } from 'node:stream/consumers';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { rowsHandler } from '../../src/http/routes/events.ts';
import { createExportReader } from '../../src/read/export.ts';
import { planExport } from '../../src/read/export-plan.ts';
import { createRowsReader, type Rows } from '../../src/read/rows.ts';
import { search } from '../../src/read/search.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { answerOf, copyEvents, createCaller, createRecorder, withMemory } from './support.ts';

const never = new AbortController().signal;
const start = 1_790_000_000_000_000;
const envelope = { head: '{', tail: '}}' };

describe('of large texts', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });

  it('rows of a list are of events whose texts are together more than a read may hold', async () => {
    const caller = createCaller();
    const message = { action: 1, timestamp: start, extra: { large: 'large '.repeat(20_000) } };
    const events = Array.from({ length: 100 }, () => ({ msg: 'shown', message }));
    await createRecorder(engine.storage)(caller.organization.id, events);
    await copyEvents(engine.storage, caller.organization.id, 9);
    // All of them are 240 MB. Threads that each hold a block of 64, with the pieces cut of it, take up to 110 beside other work.
    const handler = rowsHandler(createRowsReader(withMemory(engine.storage, 170_000_000), () => 0n));
    for (const query of [{}, { q: 'LARGE' }, { severity: 'informational' }]) {
      const { data, meta } = await answerOf<Rows>(handler, caller, { ...query, limit: 1_000 });
      assert.deepEqual([data.length, meta.total, data[0]?.message], [1_000, 1_000, 'shown']);
    }
  });

  it('a search has few texts in memory at once, however large they are', async () => {
    const org = randomUUID();
    const msg = 'large '.repeat(4_000);
    const message = { action: 1, timestamp: start };
    const events = Array.from({ length: 600 }, () => ({ msg, message }));
    await createRecorder(engine.storage)(org, events);
    await copyEvents(engine.storage, org, 14);
    // All of them are 216 MB.
    const storage = withMemory(engine.storage, 260_000_000);
    const filter = { words: ['LARGE'] };
    const { total } = await search(storage, org, { filter, offset: 0, limit: 5 }, never);
    assert.equal(total, 9_000);
    const { rows: planned } = await planExport(storage, org, filter);
    assert.equal(planned, 9_000);
    const exported = await createExportReader(storage, envelope)(org, { format: 'ndjson', filter }, 0, never);
    assert.equal(exported.total, 9_000);
    const lines = (await readText(toReadable(exported.stream))).split('\n');
    assert.equal(lines.length, 9_001);
  });
});
