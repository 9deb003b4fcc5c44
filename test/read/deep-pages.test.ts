import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/read/limits.ts';
import type { AuditFilter } from '../../src/read/filter.ts';
import { createPageReader } from '../../src/read/page.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { rounds } from '../support/rounds.ts';
import { createRecorder, newestFirst, type Recorded } from './support.ts';

const hour = 3_600_000_000;
const step = Math.floor(hour / 7);
const base = Date.UTC(2024, 4, 1) * 1000;
const farFuture = Date.UTC(2150, 0, 1) * 1000;
const envelope = { head: '{', tail: '}}' };

interface PageBody {
  readonly data: readonly { readonly extra_map: { readonly n: number } }[];
  readonly meta: { readonly total: number };
}

type ReadPage = (filter: AuditFilter, limit: number, offset: number) => Promise<PageBody>;

/** The expected page, from a sorted list of all events. */
function pageOf(rows: readonly Recorded[], filter: AuditFilter, limit: number, offset: number) {
  const {
    fromMicros = 0,
    toMicros = Number.MAX_SAFE_INTEGER,
    is: { actor, userId, fileName, fileHash, status } = {},
  } = filter;
  const all = rows.filter(
    (row) =>
      row.timeMicros >= fromMicros &&
      row.timeMicros <= toMicros &&
      (actor ?? row.actorEmail) === row.actorEmail &&
      (userId ?? row.actorId) === row.actorId &&
      (status ?? row.status) === row.status &&
      (fileName === undefined || row.names.includes(fileName as string)) &&
      (fileHash === undefined || row.fileHashes.includes(fileHash as string)),
  );
  const numbers = all
    .slice(offset, offset + limit)
    .map(({ source }) => Number(/"n":(\d+)/.exec(source)?.[1]));
  return { numbers, total: all.length };
}

async function assertPage(
  readPage: ReadPage,
  rows: readonly Recorded[],
  ...asked: Parameters<ReadPage>
): Promise<void> {
  const page = await readPage(...asked);
  const expected = pageOf(rows, ...asked);
  const numbers = page.data.map(({ extra_map: { n } }) => n);
  assert.deepEqual({ numbers, total: page.meta.total }, expected);
}

describe('pages at deep offsets', () => {
  let engine: SharedEngine;
  let record: ReturnType<typeof createRecorder>;
  let recorded = 0;
  /** Its month is the partition of the events. */
  let recordedAt = Date.now();
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage, { now: () => recordedAt });
  });

  const readerOf = (org: string): ReadPage => {
    const reader = createPageReader(engine.storage, envelope, () => 0);
    return async (filter, limit, offset) => {
      const body = await reader(org, { filter, limit, offset }, AbortSignal.timeout(20_000));
      assert.ok('bytes' in body);
      const page = JSON.parse(Buffer.from(body.bytes).toString()) as PageBody;
      body.release();
      return page;
    };
  };

  /** Actors by number: most events by one, few by others; user ids differ from them. */
  const actorOf = (n: number): string =>
    n % 3 > 0 ? 'most@x.test' : n % 500 > 0 ? 'some@x.test' : 'few@x.test';
  const userOf = (n: number): string => (n % 5 > 0 ? 'most' : 'some');
  /** Pairs of names that are equal, equal except for case, or different, each first and second. */
  const files = ['Most.txt', 'MOST.TXT', 'some.txt', '', 'few.txt'];
  const fileOf = (n: number): string => files[n % 700 === 0 ? 4 : n % 4] ?? '';

  /** Records events at these times, in small segments. */
  async function add(org: string, times: readonly number[]): Promise<Recorded[]> {
    const rows: Recorded[] = [];
    for (let from = 0; from < times.length; from += 20_000) {
      const texts = times.slice(from, from + 20_000).map((timestamp) => {
        const n = recorded++;
        const actor = { email: actorOf(n), id: userOf(n) };
        const [file, target] = [fileOf(n), fileOf(Math.floor(n / 3))];
        const sender = { file, hash: `h-${file}` };
        const extra = { n, fileHash: `h-${target}` };
        const result = { code: n % 4 > 0 ? 200 : 500 };
        return { message: { timestamp, action: 1, actor, target, sender, extra, result } };
      });
      rows.push(...(await record(org, texts)));
    }
    return rows;
  }

  const range = (times: fc.Arbitrary<number>): fc.Arbitrary<AuditFilter> => {
    const bound = fc.option(times, { nil: undefined });
    return fc.tuple(bound, bound).map(([from, to]) => ({
      ...(from === undefined ? {} : { fromMicros: from }),
      ...(to === undefined ? {} : { toMicros: to }),
    }));
  };

  const actors = fc.constantFrom('most@x.test', 'some@x.test', 'few@x.test', 'nobody@x.test');
  const users = fc.constantFrom('most', 'some', 'nobody');
  const names = fc.constantFrom('most.txt', 'some.txt', 'few.txt', 'none.txt');
  const byColumns: fc.Arbitrary<AuditFilter> = fc
    .oneof(
      fc.record({ actor: actors }),
      fc.record({ userId: users }),
      fc.record({ actor: actors, userId: users }),
      fc.record({ fileName: names }),
      fc.record({ fileHash: names.map((name) => `h-${name}`) }),
      fc.record({ fileName: names, userId: users }),
      fc.record({ fileName: names, actor: actors }),
      fc.record({ fileHash: names.map((name) => `h-${name}`), actor: actors, userId: users }),
      fc.record({ fileName: names, fileHash: names.map((name) => `h-${name}`) }),
      fc.record({ actor: actors, status: fc.constantFrom('Success', 'Failure') }),
    )
    .map((is) => ({ is }));

  describe('of events that lie still', () => {
    const org = randomUUID();
    let rows: Recorded[];
    before(async () => {
      rows = await add(org, [
        // One hour with most of them, many at equal times.
        ...Array.from({ length: 14_000 }, (_, n) => base + (n % 1700) * 2_000_003),
        // Hours around it, days apart, some at the edges of hours and months.
        ...Array.from({ length: 6_000 }, (_, n) => base + ((n * 7919) % 4000) * step),
        base,
        base - 1,
        base + hour,
        base + hour - 1,
        Date.UTC(2024, 5, 1) * 1000,
      ]);
      rows.sort(newestFirst);
    });

    test('hold what a sorted list holds, wherever the range begins and ends', async () => {
      const readPage = readerOf(org);
      const times = fc.integer({ min: -2 * hour, max: 3000 * step }).map((at) => base + at);
      const edge = fc.constantFrom(base, base - 1, base + hour - 1, base + hour, base + 2 * hour);
      const { deepOffsetMin } = limits;
      const offset = fc.oneof(
        fc.integer({ min: deepOffsetMin - 2, max: 23_000 }),
        fc.constantFrom(0, deepOffsetMin),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(fc.constant({}), range(fc.oneof(times, edge))),
          fc.integer({ min: 1, max: 1000 }),
          offset,
          (filter, limit, skip) => assertPage(readPage, rows, filter, limit, skip),
        ),
        { numRuns: rounds(6, 100) },
      );
    });

    test('of one actor, user, name or hash hold what a sorted list holds, at any offset', async () => {
      const readPage = readerOf(org);
      const times = fc.oneof(
        fc.integer({ min: 0, max: 3000 * step }).map((at) => base + at),
        fc.constantFrom(base, base + hour - 1, base + hour),
      );
      const offset = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15_000 }));
      await fc.assert(
        fc.asyncProperty(
          byColumns,
          fc.oneof(fc.constant({}), range(times)),
          fc.integer({ min: 1, max: 1000 }),
          offset,
          (columns, filter, limit, skip) =>
            assertPage(readPage, rows, { ...filter, ...columns }, limit, skip),
        ),
        { numRuns: rounds(8, 100) },
      );
    });

    test('past the end are empty and know the total', async () => {
      const readPage = readerOf(org);
      await assertPage(readPage, rows, {}, 10, 1_000_000);
      await assertPage(readPage, rows, {}, 10, rows.length);
      await assertPage(readPage, rows, { toMicros: base }, 10, 1_000_000);
      for (const is of [{ fileName: 'most.txt' }, { fileName: 'most.txt', fileHash: 'h-most.txt' }])
        await assertPage(readPage, rows, { is: { ...is, actor: 'most@x.test' } }, 10, 1_000_000);
    });
  });

  test('stay true while events come in anywhere', async () => {
    const times = fc.oneof(
      fc.integer({ min: 0, max: 300 }).map((n) => base + n * hour),
      fc.constant(base + 301 * hour),
      fc.constant(farFuture),
    );
    const arrival = fc.record({ at: times, count: fc.integer({ min: 1, max: 4000 }) });
    const look = fc.record({
      filter: fc
        .tuple(range(times), fc.oneof(fc.constant({}), byColumns))
        .map(([time, columns]) => ({ ...time, ...columns })),
      offset: fc.oneof(fc.constant(0), fc.integer({ min: 5000, max: 22_000 })),
    });
    const steps = fc.array(fc.oneof({ weight: 1, arbitrary: arrival }, { weight: 4, arbitrary: look }), {
      minLength: 5,
      maxLength: 15,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const org = randomUUID();
        const readPage = readerOf(org);
        let rows = await add(
          org,
          Array.from({ length: 10_000 }, (_, n) => base + (n % 300) * hour),
        );
        rows.sort(newestFirst);
        for (const one of all) {
          if ('filter' in one) await assertPage(readPage, rows, one.filter, 50, one.offset);
          else {
            rows = [...rows, ...(await add(org, Array<number>(one.count).fill(one.at)))].sort(newestFirst);
          }
        }
      }),
      { numRuns: rounds(1, 10) },
    );
  });

  test('agree with their total while events come in, also at the very end', async () => {
    const org = randomUUID();
    const count = 12_000;
    await add(
      org,
      Array.from({ length: count }, (_, n) => base + n * 1_000_000),
    );
    const readPage = readerOf(org);
    const ending = new AbortController();
    const adding = (async () => {
      for (let n = 0; !ending.signal.aborted; n++) await add(org, [base + (count + n) * 1_000_000, base - n]);
    })();
    try {
      for (let n = 0; n < rounds(8, 100); n++) {
        const offset = 11_500 + n;
        const { data, meta } = await readPage({}, 1000, offset);
        assert.equal(data.length, Math.min(1000, meta.total - offset));
      }
    } finally {
      ending.abort();
      await adding;
    }
  });

  test('stay true when events expire, and when they are too late for the counts of hours', async () => {
    const org = randomUUID();
    const newMonth = Date.UTC(2031, 6, 1) * 1000;
    const old = await add(
      org,
      Array.from({ length: 9000 }, (_, n) => base + n * step),
    );
    const realNow = recordedAt;
    recordedAt = newMonth / 1000;
    const late = await add(org, Array<number>(3000).fill(newMonth + 5));
    recordedAt = realNow;
    const readPage = readerOf(org);
    const all = [...old, ...late].sort(newestFirst);
    for (const filter of [{}, { toMicros: newMonth + 6 }]) {
      for (const offset of [8000, 9000]) await assertPage(readPage, all, filter, 100, offset);
    }
    await engine.storage.command(
      'ALTER TABLE events DELETE WHERE org = {org:UUID} AND time >= fromUnixTimestamp64Micro({from:Int64})',
      { org, from: newMonth },
      { settings: { mutations_sync: 1 } },
    );
    old.sort(newestFirst);
    for (const filter of [{ toMicros: newMonth + 6 }, {}]) {
      for (const offset of [6000, 8000, 8950]) await assertPage(readPage, old, filter, 100, offset);
    }
    const far = await add(org, [farFuture, farFuture + 1]);
    const withFar = [...old, ...far].sort(newestFirst);
    for (const offset of [5000, 8000, 9001]) await assertPage(readPage, withFar, {}, 100, offset);
  });
});
