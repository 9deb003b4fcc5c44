import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/base/limits.ts';
import type { AuditFilter } from '../../src/read/filter.ts';
import { findDeepStart } from '../../src/read/deep-offset.ts';
import { createPageReader } from '../../src/read/page.ts';
import { startTestEngine, type TestEngine } from '../support/engine.ts';
import { createRecorder, newestFirst, type Recorded } from './support.ts';

const org = '0b7f2a50-0000-4000-8000-0000000000aa';
const sparse = '0b7f2a50-0000-4000-8000-0000000000bb';
const hour = 3_600_000_000;
const step = Math.floor(hour / 7);
const base = Date.UTC(2024, 4, 1) * 1000;

interface PageBody {
  readonly data: readonly { readonly time: number; readonly extra_map: { readonly n: number } }[];
  readonly meta: { readonly total: number };
}

describe('pages at deep offsets', () => {
  let engine: TestEngine;
  let rows: Recorded[];
  let readPage: (filter: AuditFilter, limit: number, offset: number, of?: string) => Promise<PageBody>;

  before(async () => {
    engine = await startTestEngine();
    const record = createRecorder(engine.storage);
    const event = (micros: number, n: number) =>
      `{"message":{"timestamp":${micros},"action":1,"extra":{"n":${n}}}}`;
    const times = [
      // One hour that is dense enough for seconds, with many equal times.
      ...Array.from({ length: limits.denseHourEventsMin + 3000 }, (_, n) => base + (n % 1700) * 2_000_003),
      // Hours around it, days apart, and two on the very edges of hours and months.
      ...Array.from({ length: 12_000 }, (_, n) => base + ((n * 7919) % 4000) * step),
      base,
      base - 1,
      base + hour,
      base + hour - 1,
      Date.UTC(2024, 5, 1) * 1000,
    ];
    const inserted: Recorded[] = [];
    for (let from = 0; from < times.length; from += 20_000) {
      const texts = times.slice(from, from + 20_000).map((time, index) => event(time, from + index));
      inserted.push(...(await record(org, texts)));
    }
    await record(sparse, [event(Date.UTC(2150, 0, 1) * 1000, 1), event(base, 2)]);
    rows = inserted.toSorted(newestFirst);
    const frame = { head: '{', tail: '}}' };
    const reader = createPageReader(engine.storage, frame, () => 0);
    readPage = async (filter, limit, offset, of = org) => {
      const body = await reader(of, { filter, limit, offset }, AbortSignal.timeout(20_000));
      assert.ok('bytes' in body);
      const page = JSON.parse(Buffer.from(body.bytes).toString()) as PageBody;
      body.release();
      return page;
    };
  });
  after(() => engine.stop());

  test('hold what a sorted list of all events holds, wherever the range begins and ends', async () => {
    const times = fc.integer({ min: -2 * hour, max: 3000 * step }).map((at) => base + at);
    const edge = fc.constantFrom(base, base - 1, base + hour - 1, base + hour, base + 2 * hour);
    const bound = fc.option(fc.oneof(times, edge), { nil: undefined });
    const offset = fc.oneof(
      fc.integer({ min: limits.deepOffsetMin - 2, max: 40_000 }),
      fc.constant(limits.deepOffsetMin),
    );
    await fc.assert(
      fc.asyncProperty(
        bound,
        bound,
        offset,
        fc.integer({ min: 1, max: 1000 }),
        async (from, to, skip, limit) => {
          const filter = {
            ...(from === undefined ? {} : { fromMicros: from }),
            ...(to === undefined ? {} : { toMicros: to }),
          };
          const all = rows.filter(
            ({ timeMicros: at }) => at >= (from ?? 0) && at <= (to ?? Number.MAX_SAFE_INTEGER),
          );
          const page = await readPage(filter, limit, skip);
          assert.equal(page.meta.total, all.length);
          const expected = all
            .slice(skip, skip + limit)
            .map(({ source }) => Number(/"n":(\d+)/.exec(source)?.[1]));
          assert.deepEqual(
            page.data.map(({ extra_map: { n } }) => n),
            expected,
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  test('are walked to the end without a repeated or a missing event', async () => {
    const seen = new Set<number>();
    for (let offset = 0; ; ) {
      const { data, meta } = await readPage({}, 1000, offset);
      for (const { extra_map: extra } of data) seen.add(extra.n);
      offset += data.length;
      if (offset >= meta.total) break;
      assert.ok(data.length > 0);
    }
    assert.equal(seen.size, rows.length);
  });

  test('skip a number of events that does not grow with the offset', async () => {
    for (const offset of [6000, 14_000, 20_000, 30_000]) {
      const start = await findDeepStart(engine.storage, org, {}, offset, AbortSignal.timeout(5000));
      assert.ok(start !== undefined && start.offset < limits.deepOffsetMin, `${offset}: ${start?.offset}`);
    }
  });

  test('past the end are empty and know the total; times that hours cannot count are read the plain way', async () => {
    const beyond = await readPage({}, 10, 1_000_000);
    assert.deepEqual([beyond.data.length, beyond.meta.total], [0, rows.length]);
    const start = await findDeepStart(engine.storage, sparse, {}, 10_000, AbortSignal.timeout(5000));
    assert.equal(start, undefined);
    const { data, meta } = await readPage({}, 10, 0, sparse);
    assert.deepEqual([data.map(({ extra_map: { n } }) => n), meta.total], [[1, 2], 2]);
  });
});
