import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { FairQueue } from '../../src/base/waiting/fair-queue.ts';
import { limits } from '../../src/read/limits.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { type Chunk, dividePages, ReadAhead } from '../../src/read/feed-ahead.ts';
import { createFeedReader, type FeedReader } from '../../src/read/feed.ts';
import { createFeedCursors } from '../../src/read/feed-cursor.ts';
import { Ocsf110Pool } from '../../src/read/ocsf110/pool.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { eventually } from '../support/http.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { copyEvents, createRecorder, withMemory } from './support.ts';

const never = new AbortController().signal;
const cursorSecret = 'a secret of at least 32 characters';

/** Listeners, and the signals that `AbortSignal.any` has derived from this one. */
function leftOn(signal: AbortSignal): readonly number[] {
  const name = Object.getOwnPropertySymbols(signal).find(
    ({ description }) => description === 'kDependantSignals',
  );
  const made = (signal as unknown as Record<symbol, Set<unknown> | undefined>)[name ?? Symbol()];
  return [getEventListeners(signal, 'abort').length, made?.size ?? 0];
}

const queueOf = (slots: number): FairQueue =>
  new FairQueue({
    slotsPerOrganization: slots,
    slots,
    waitingPerOrganization: 10,
    waiting: 10,
    waitMs: 60_000,
    refusal: 'too many',
    retryAfterSeconds: 1,
  });

describe('the feed of large events', () => {
  const organization = randomUUID();
  /** Of a megabyte each, more together than a buffered page. */
  const events = 36;
  let engine: SharedEngine;
  let last = 0n;
  before(async () => {
    engine = await sharedEngine();
    const record = createRecorder(engine.storage);
    const big = 'x'.repeat(1_000_000);
    for (let first = 0; first < events; first += 12) {
      const some = Array.from({ length: 12 }, (_, n) => ({
        message: { action: 2001, timestamp: '2026-01-01T00:00:00Z', extra: { n: first + n, big } },
      }));
      last = (await record(organization, some)).at(-1)?.seq ?? 0n;
    }
  });

  /** A reader, and the number of its reads of events, not only of positions. */
  function createScene(storage: Storage = engine.storage): {
    queue: FairQueue;
    read: FeedReader;
    reads: () => number;
    stopping: AbortController;
  } {
    const queue = queueOf(4);
    const stopping = new AbortController();
    let reads = 0;
    const read = createFeedReader({
      storage: {
        ...storage,
        bytes(...query) {
          reads += 1;
          return storage.bytes(...query);
        },
      },
      envelope: { head: eventHead, tail: eventTail({ vendorName: 'V', productName: 'P' }) },
      clock: () => 77,
      pool: new Ocsf110Pool({ vendorName: 'V', productName: 'P', appName: 'A' }, silentLog),
      cursors: createFeedCursors(cursorSecret),
      watermark: () => last + 1n,
      arrivedBefore: () => undefined,
      waitingMs: () => 0,
      retentionCutOff: () => undefined,
      queue,
      stopping: stopping.signal,
    });
    return { queue, read, reads: () => reads, stopping };
  }

  async function page(read: FeedReader, cursor: string, limit: number, of = organization) {
    const body = await read(of, { filter: {}, cursor, limit, waitSeconds: 0 }, never);
    assert.ok('bytes' in body);
    const { data, meta } = JSON.parse(Buffer.from(body.bytes).toString()) as {
      data: { extra_map: { n: number } }[];
      meta: { next_cursor: string; has_more: boolean };
    };
    body.release();
    return { numbers: data.map(({ extra_map: extra }) => extra.n), ...meta };
  }

  test('a page that would be too large ends with the last event that fits, and holds no turn', async () => {
    const { queue, read } = createScene();
    const seen: number[] = [];
    let [cursor, pages, more] = ['', 0, true];
    while (more) {
      const body = await read(organization, { filter: {}, cursor, limit: 34, waitSeconds: 0 }, never);
      assert.ok('flow' in body);
      assert.equal(queue.size().running, 0);
      const text = await readText(toReadable(body.flow));
      assert.ok(text.length <= limits.feedPageBytesMax + 1000);
      const { data, meta } = JSON.parse(text) as {
        data: { extra_map: { n: number } }[];
        meta: { next_cursor: string; has_more: boolean };
      };
      seen.push(...data.map(({ extra_map: extra }) => extra.n));
      [cursor, more] = [meta.next_cursor, meta.has_more];
      pages += 1;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: events }, (_, n) => n),
    );
    assert.equal(pages, 3);
    assert.equal(queue.size().running, 0);
  });

  test('who waits for events leaves nothing on the signal of the server, and is answered when that stops', async () => {
    const { read, stopping } = createScene();
    const wait = async (waitSeconds: number) => {
      const cursor = createFeedCursors(cursorSecret).write(organization, last);
      const body = await read(organization, { filter: {}, cursor, limit: 10, waitSeconds }, never);
      assert.ok('bytes' in body);
      assert.match(Buffer.from(body.bytes).toString(), /^\{"data":\[\],"meta"/);
    };
    const left = leftOn(stopping.signal);
    await wait(1);
    assert.deepEqual(leftOn(stopping.signal), left);
    const waiting = wait(limits.feedWaitSecondsMax);
    const begunMs = performance.now();
    setTimeout(() => stopping.abort(), 300);
    await waiting;
    assert.ok(performance.now() - begunMs < (limits.feedWaitSecondsMax * 1000) / 2);
  });

  test('words are looked for in a few texts at once', async () => {
    const of = randomUUID();
    const message = { action: 1, timestamp: '2026-01-01T00:00:00Z', extra: { n: 7 } };
    const msg = 'large '.repeat(4_000);
    const large = Array.from({ length: 600 }, () => ({ msg, message }));
    last = ((await createRecorder(engine.storage)(of, large)).at(-1)?.seq ?? 0n) + 19_000n;
    await copyEvents(engine.storage, of, 19);
    // All of them are 290 MB; with default blocks, the search takes twice that.
    const { read } = createScene(withMemory(engine.storage, 400_000_000));
    const request = { filter: { words: ['LARGE'] }, cursor: '', limit: 5, waitSeconds: 0 };
    const body = await read(of, request, never);
    assert.ok('bytes' in body);
    assert.equal(Buffer.from(body.bytes).toString().match(/"n":7/g)?.length, 5);
    body.release();
  });

  test('nothing too large for memory is read ahead', async () => {
    const { queue, read, reads, stopping } = createScene();
    const first = await page(read, '', 10);
    const second = await page(read, first.next_cursor, 10);
    assert.equal(second.has_more, true);
    await eventually('all reads have ended', async () => (queue.size().running === 0 ? true : undefined));
    assert.equal(reads(), 2);
    stopping.abort();
  });

  test('as many pages are read ahead as fit into memory, and each event comes once', async () => {
    const { read, reads, stopping } = createScene();
    const all: number[] = [];
    let pages = 0;
    for (let cursor = '', more = true; more; pages++) {
      const { numbers, next_cursor: next, has_more: hasMore } = await page(read, cursor, 4);
      all.push(...numbers);
      [cursor, more] = [next, hasMore];
    }
    assert.deepEqual(all, [...Array(events).keys()]);
    assert.ok(reads() < pages, `${reads()} reads for ${pages} pages`);
    stopping.abort();
  });

  test('all that came while a follower was away is read at once, the last page too', async () => {
    const { read, reads, stopping } = createScene();
    const follower = randomUUID();
    const record = createRecorder(engine.storage);
    const come = async (from: number, to: number): Promise<void> => {
      const some = Array.from({ length: to - from }, (_, n) => ({
        message: { action: 2001, timestamp: '2026-01-01T00:00:00Z', extra: { n: from + n } },
      }));
      last = (await record(follower, some)).at(-1)?.seq ?? 0n;
    };
    await come(0, 20);
    const begin = await page(read, '', 10, follower);
    // From now on it knows how large its events are.
    let { next_cursor: cursor, has_more: more } = await page(read, begin.next_cursor, 10, follower);
    assert.equal(more, false);
    await come(20, 55);
    const before = reads();
    const all: number[] = [];
    do {
      const found = await page(read, cursor, 10, follower);
      all.push(...found.numbers);
      [cursor, more] = [found.next_cursor, found.has_more];
    } while (more);
    assert.deepEqual(
      all,
      Array.from({ length: 35 }, (_, n) => 20 + n),
    );
    assert.equal(reads() - before, 1);
    stopping.abort();
  });
});

test('rows are divided into the pages that were found, or not at all where some are missing', () => {
  const text = fc.stringMatching(/^[a-z,]{1,20}$/);
  fc.assert(
    fc.property(fc.array(fc.array(text, { minLength: 1, maxLength: 5 }), { minLength: 1 }), (pages) => {
      const found = (of: readonly string[][]) => ({
        after: 0n,
        watermark: 99n,
        pages: of.map(({ length }, n) => ({ last: BigInt(n + 1), events: length, more: true })),
      });
      const buffer = new Uint8Array(Buffer.from(`before${pages.flat().join(',\n')}behind`));
      const rows = { buffer, start: 6, end: buffer.length - 6, release: () => undefined };
      const divided = dividePages(rows, found(pages))?.pages.map(({ bytes }) =>
        Buffer.from(bytes).toString(),
      );
      assert.deepEqual(
        divided,
        pages.map((page) => page.join(',\n')),
      );
      assert.equal(dividePages(rows, found([...pages, ['one more']])), undefined);
      assert.equal(dividePages(rows, found(pages.slice(1))), undefined);
    }),
  );
});

describe('pages read ahead', () => {
  /** Chunks of two pages of one event each, which end when the test says so. */
  function createScene() {
    const asked: { finish: () => void; signal: AbortSignal }[] = [];
    let held = 0;
    const ahead = new ReadAhead(
      (_organization, { after }, signal) =>
        new Promise<Chunk>((resolve) => {
          const finish = (): void => {
            held += 1;
            const pages = [1n, 2n].map((n) => ({
              last: after + n,
              events: 1,
              more: true,
              bytes: Buffer.from(String(n)),
            }));
            resolve({ pages, watermark: after + 9n, release: () => void (held -= 1) });
          };
          asked.push({ finish, signal });
        }),
    );
    ahead.note('org', 100, 1);
    const take = (after: bigint) => ahead.take('org', after, 1, ({ bytes }) => Buffer.from(bytes).toString());
    return { ahead, asked, take, held: () => held };
  }

  test('is bounded with what requests wait for', async () => {
    const { ahead, asked, take, held } = createScene();
    const waiting: Promise<string | undefined>[] = [];
    for (let n = 0n; n < 100n; n += 10n) {
      ahead.begin('org', n, 1);
      waiting.push(take(n));
    }
    assert.equal(asked.length, limits.feedAheadPerOrganizationMax);
    for (const { finish } of asked) finish();
    assert.deepEqual((await Promise.all(waiting)).slice(0, 3), ['1', '1', undefined]);
    ahead.stop();
    await eventually('all memory is given back', async () => (held() === 0 ? true : undefined));
  });

  test('ends with a stop: nothing is begun or kept after it, and who waits is served', async () => {
    const { ahead, asked, take, held } = createScene();
    ahead.begin('org', 0n, 1);
    const waiting = take(0n);
    ahead.begin('org', 50n, 1);
    ahead.stop();
    assert.equal(asked[1]?.signal.aborted, true);
    for (const { finish } of asked) finish();
    assert.equal(await waiting, '1');
    await eventually('all memory is given back', async () => (held() === 0 ? true : undefined));
    ahead.begin('org', 90n, 1);
    assert.equal(asked.length, 2);
  });

  test('gives its memory back where a page cannot be used', async () => {
    const { ahead, asked, held } = createScene();
    ahead.begin('org', 0n, 1);
    const broken = ahead.take('org', 0n, 1, () => {
      throw new RangeError('no memory');
    });
    asked[0]?.finish();
    await assert.rejects(broken, RangeError);
    assert.equal(held(), 0);
    ahead.stop();
  });
});
