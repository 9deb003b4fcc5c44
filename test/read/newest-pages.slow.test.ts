import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/read/limits.ts';
import { NewestSpans } from '../../src/read/newest-span.ts';
import { createPageReader } from '../../src/read/page.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine } from '../support/shared.ts';
import { createRecorder } from './support.ts';

const second = 1_000_000;
const noon = Date.UTC(2024, 4, 1, 12) * 1000;
const envelope = { head: '{', tail: '}}' };
const request = (limit: number, offset = 0) => ({ filter: {}, limit, offset });

interface PageBody {
  readonly data: readonly { readonly time: number; readonly extra_map: { readonly n: number } }[];
  readonly meta: { readonly total: number };
}

describe('newest pages of an organization that records all the time', () => {
  let storage: Storage;
  let record: ReturnType<typeof createRecorder>;
  let now = noon;
  let recorded = 0;
  before(async () => {
    ({ storage } = await sharedEngine());
    record = createRecorder(storage);
  });

  /** One segment with events at these times. */
  const add = async (org: string, times: readonly number[]) => {
    const events = times.map((timestamp) => ({
      message: { timestamp, action: 1, extra: { n: recorded++ } },
    }));
    return (await record(org, events)).map(({ timeMicros: time, seq, source }) => ({
      time,
      seq,
      n: Number(/"n":(\d+)/.exec(source)?.[1]),
    }));
  };

  const readerOf = (org: string) => {
    const reader = createPageReader(storage, envelope, () => now);
    return async (limit: number, offset = 0): Promise<PageBody> => {
      const body = await reader(org, request(limit, offset), AbortSignal.timeout(20_000));
      assert.ok('bytes' in body);
      const page = JSON.parse(Buffer.from(body.bytes).toString()) as PageBody;
      body.release();
      return page;
    };
  };

  const timesBefore = (end: number) => Array.from({ length: 100 }, (_, n) => end - n * 50_000);

  const remove = (org: string, since: number): Promise<void> =>
    storage.command(
      'ALTER TABLE events DELETE WHERE org = {org:UUID} AND time >= fromUnixTimestamp64Micro({since:Int64})',
      { org, since },
      { settings: { mutations_sync: 1 } },
    );

  async function counted(event: 'SelectedParts' | 'SelectedRows'): Promise<number> {
    const [row] = await storage.rows<{ n: string }>(
      'SELECT sum(value) AS n FROM system.events WHERE event = {event:String}',
      { event },
    );
    return Number(row?.n);
  }

  test('leave out parts that are older than the page before', async () => {
    const org = randomUUID();
    const parts = 30;
    await storage.command('SYSTEM STOP MERGES events');
    try {
      for (let part = parts; part > 0; part -= 1) await add(org, Array<number>(20).fill(now - part * second));
      const readPage = readerOf(org);
      const selectedBy = async (limit: number): Promise<number> => {
        const before = await counted('SelectedParts');
        const { data, meta } = await readPage(limit);
        assert.deepEqual([data.length, meta.total, data[0]?.time], [limit, 20 * parts, now - second]);
        return (await counted('SelectedParts')) - before;
      };
      const [first, again] = [await selectedBy(40), await selectedBy(40)];
      // Each counts all events by the counts of each part.
      assert.ok(first >= 2 * parts, `${first} parts`);
      assert.ok(again < first - parts / 2, `${again} parts after ${first}`);
      assert.ok((await selectedBy(10)) < first - parts / 2, 'a smaller page');
      assert.ok((await selectedBy(400)) >= 2 * parts, 'a larger page than is known of');
    } finally {
      await storage.command('SYSTEM START MERGES events');
    }
  });

  test('look at few events however many there are of the future', async () => {
    const org = randomUUID();
    const events = 300_000;
    await storage.command(
      `INSERT INTO events SELECT {org:UUID}, toDateTime64('2100-01-01 00:00:00', 6, 'UTC') + number,
         number + 1, 1000, 'a', 'Informational', 'Success', 'INFO', 200, '', '', [], [], '', '',
         toUUID('00000000-0000-0000-0000-000000000000'), toDate('2149-06-06'), false, concat('"time":', toString((4102444800 + number) * 1000000), ',"extra_map":{},"metadata":{'), ''
       FROM numbers({events:UInt64})`,
      { org, events },
      { settings: { max_block_size: events } },
    );
    const readPage = readerOf(org);
    await readPage(10);
    // The engine also counts reads for other tests.
    let fewest = Number.POSITIVE_INFINITY;
    for (let read = 0; read < 5; read += 1) {
      const before = await counted('SelectedRows');
      assert.equal((await readPage(10)).meta.total, events);
      fewest = Math.min(fewest, (await counted('SelectedRows')) - before);
    }
    assert.ok(fewest < events / 2, `${fewest} rows`);
  });

  const at = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: -5 * second, max: 0 }) },
    fc.integer({ min: -3_600 * second, max: 3_600 * second }),
  );
  const change = fc.oneof(
    { weight: 2, arbitrary: fc.record({ times: fc.array(at, { minLength: 1, maxLength: 40 }) }) },
    { weight: 3, arbitrary: fc.record({ passed: fc.integer({ min: -20 * second, max: 60 * second }) }) },
    { weight: 1, arbitrary: fc.record({ removedSince: fc.integer({ min: -5 * second, max: 0 }) }) },
  );
  const look = fc.record({ limit: fc.integer({ min: 2, max: 60 }), offset: fc.constantFrom(0, 3, 40) });
  const steps = fc.array(fc.tuple(change, look, look), { minLength: 4, maxLength: 8 });

  test('match a model of all events, during inserts, removals and clock changes', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const org = randomUUID();
        const readPage = readerOf(org);
        now = noon;
        let events = await add(org, timesBefore(now));
        for (const [changed, ...looks] of all) {
          if ('passed' in changed) now += changed.passed;
          else if ('times' in changed) {
            const times = changed.times.map((after) => now + after);
            events.push(...(await add(org, times)));
          } else {
            const since = now + changed.removedSince;
            await remove(org, since);
            events = events.filter(({ time }) => time < since);
          }
          events.sort((a, b) => b.time - a.time || (b.seq > a.seq ? 1 : -1));
          for (const { limit, offset } of looks) {
            const { data, meta } = await readPage(limit, offset);
            const found = { total: meta.total, page: data.map(({ extra_map: extra }) => extra.n) };
            const page = events.slice(offset, offset + limit).map(({ n }) => n);
            assert.deepEqual(found, { total: events.length, page });
          }
        }
      }),
      // A failure's report is short, and each round takes a second.
      { numRuns: rounds(8, 60), endOnFailure: true },
    );
    now = noon;
  });
});

describe('memory of newest pages', () => {
  const seen = { oldest: noon - second, now: noon };

  test('covers a bounded number of organizations, those with reads', () => {
    const spans = new NewestSpans();
    for (let n = 0; n <= limits.newestOrganizationsMax; n += 1) {
      spans.seen(`${n}`, request(10), seen);
      spans.seen('a', request(10), seen);
    }
    assert.equal(spans.floor('0', request(10), noon), undefined);
    for (const known of ['a', `${limits.newestOrganizationsMax}`])
      assert.notEqual(spans.floor(known, request(10), noon), undefined);
  });
});
