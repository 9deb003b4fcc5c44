import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { eventsView, keepEventsView } from '../../src/storage/events-view.ts';
import { quoteIdentifier, quoteString } from '../../src/storage/quote.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { startTestEngine } from '../support/engine.ts';
import type { TestEngine } from '../support/engine.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine();
});
after(async () => engine.stop());

const oddText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "'",
      '"',
      '\\',
      '`',
      '\n',
      '\r',
      '\t',
      '\0',
      '0',
      'x',
      '{a:String}',
      ';',
      '--',
      '/*',
      '%',
      '😀',
      'é',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  ),
});

test('a quoted string is that string to the engine, whatever it holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddText, { minLength: 1, maxLength: 20 }), async (texts) => {
      const sql = `SELECT [${texts.map(quoteString).join(', ')}] AS texts`;
      const [row] = await engine.storage.rows<{ texts: string[] }>(sql);
      assert.deepEqual(row?.texts, texts);
    }),
    { numRuns: 60 },
  );
});

test('a quoted identifier is that identifier to the engine', async () => {
  for (const name of ['a', 'a b', 'a`b', 'a\\b', "a'b", 'a"b', 'select']) {
    const [row] = await engine.storage.rows<Record<string, string>>(`SELECT 'v' AS ${quoteIdentifier(name)}`);
    assert.deepEqual(row, { [name]: 'v' });
  }
});

test('the view of events gives whole JSON, with odd names of vendor and product', async () => {
  const product = { vendor_name: `O'Neil \\ "Söhne"\n{x:String}`, name: 'p\t%' };
  const head = `{"category_name":"Audit","category_uid":3,`;
  const tail = `,"product":${JSON.stringify(product)},"version":"1.1.0"}}`;
  const ocsf = `"time":1735689600000001,"message":"it's \\"fine\\"","metadata":{`;
  const startMicros = Date.now() * 1000;
  await engine.storage.command(
    `INSERT INTO events (org, time, seq, expires, own, ocsf) VALUES ({org:UUID}, {time:DateTime64(6)}, 7, '2149-06-06', true, {ocsf:String})`,
    { org: '11111111-1111-1111-1111-111111111111', time: '2025-01-01 00:00:00.000001', ocsf },
  );
  for (let time = 0; time < 2; time += 1) {
    await keepEventsView(engine.storage, { database: engine.storage.database, head, tail });
  }
  const rows = await engine.storage.rows<{ seq: string; event: string; own: boolean }>(
    'SELECT seq, event, own FROM ocsf_events',
  );
  assert.deepEqual(
    rows.map(({ own }) => own),
    [true],
  );
  const event = JSON.parse(rows[0]?.event ?? '') as { metadata: { logged_time: number } };
  assert.ok(event.metadata.logged_time >= startMicros - 1_000_000);
  assert.deepEqual(event, {
    category_name: 'Audit',
    category_uid: 3,
    time: 1735689600000001,
    message: `it's "fine"`,
    metadata: { logged_time: event.metadata.logged_time, product, version: '1.1.0' },
  });
});

test('the view is made again when its definition is another one, and only then', async () => {
  const sent: string[] = [];
  const storage: Storage = {
    ...engine.storage,
    command: (query, ...rest) => {
      sent.push(query.split(' ', 2).join(' '));
      return engine.storage.command(query, ...rest);
    },
  };
  const view = (product: string, requireRoom?: () => Promise<void>) =>
    keepEventsView(
      storage,
      { database: storage.database, head: '{', tail: `,"product":"${product}"}}` },
      requireRoom,
    );
  const full = () => Promise.reject(new Error('the disk is full'));
  await view('one');
  assert.deepEqual(sent.splice(0), ['DROP VIEW', 'CREATE VIEW']);
  await view('one', full);
  await assert.rejects(view('two', full), /the disk is full/);
  assert.deepEqual(sent.splice(0), []);
  await view('two');
  assert.deepEqual(sent.splice(0), ['DROP VIEW', 'CREATE VIEW']);
  const [row] = await storage.rows<{ event: string }>('SELECT event FROM ocsf_events LIMIT 1');
  assert.ok(row?.event.endsWith(`,"product":"two"}}`), row?.event);
});

test('on a cluster the view is made on every node', () => {
  assert.match(
    eventsView({ database: 'a', head: '{', tail: '}}', cluster: 'c' }).create,
    /^CREATE VIEW IF NOT EXISTS `a`\.ocsf_events ON CLUSTER `c`\n/,
  );
});
