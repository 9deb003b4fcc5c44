import { strict as assert } from 'node:assert';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { Row } from '../ocsf/arbitrary.ts';
import { bodyOf, row, SentSegments } from './segment-body.ts';
import {
  encodeSeqColumn,
  nextSegmentNumber,
  rowsPerSegmentMax,
  segmentSeqRange,
} from '../../src/base/events/sequence.ts';
import { openStorage } from '../../src/storage/client.ts';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';

describe('segments in the engine', () => {
  let engine: TestEngine;
  const segments = new SentSegments();
  const insertOf = segments.insertOf.bind(segments);
  before(async () => {
    engine = await startTestEngine();
  });
  after(() => engine.stop());

  /** Stored rows of the last segment, and the number of distinct ones. */
  async function counts(): Promise<unknown> {
    const [found] = await engine.storage.rows(
      'SELECT count() AS rows, uniqExact(seq) AS distinct FROM events WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}',
      segments.range,
    );
    return found;
  }

  async function underWay(queryId: string): Promise<number> {
    const query = 'SELECT query_id FROM system.processes WHERE query_id = {queryId:String}';
    return (await engine.storage.rows(query, { queryId })).length;
  }

  it('encodes every column so that the engine reads back the same values in the same order', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(row, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
        async (blocks) => {
          const segment = segments.begin();
          assert.equal(await insert(insertOf(blocks, false)), 'stored');
          const { first, last } = segmentSeqRange(segment);
          const stored = await engine.storage.rows<Record<string, unknown>>(
            `SELECT *, toUnixTimestamp64Micro(time) AS micros, toUInt16(expires) AS expiry FROM events
           WHERE seq BETWEEN {first:UInt64} AND {last:UInt64} ORDER BY seq`,
            { first, last },
          );
          assert.deepEqual(
            stored.map((found) => fromEngine(found)),
            blocks.flat().map((sent, index) => expected(sent, BigInt(first) + BigInt(index))),
          );
        },
      ),
      { numRuns: 12 },
    );
  });

  it('stores a segment once when it is sent again after doubt, whole or in part', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    const blocks = [fc.sample(row, 50), fc.sample(row, 50)];
    for (const already of [[], [blocks[0] as Row[]], blocks]) {
      segments.begin();
      if (already.length > 0) await insert(insertOf(already, false));
      assert.equal(await insert(insertOf(blocks, true)), 'stored');
      assert.equal(await insert(insertOf(blocks, true)), 'stored');
      assert.deepEqual(await counts(), { rows: '100', distinct: '100' });
    }
  });

  it('completes a damaged segment with what can still be read of it', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    const [first, second, third] = [fc.sample(row, 5), fc.sample(row, 5), fc.sample(row, 5)];
    // The table has as many rows as expected but others, or more.
    for (const already of [
      [first, second],
      [first, second, third],
    ]) {
      segments.begin();
      await insert(insertOf(already, false));
      const body = (number: number) => [
        ...bodyOf(number, [first]),
        ...bodyOf(number, [first, second, third]).slice(4),
      ];
      const readable = { ...insertOf([first, third], true), isDamaged: true, body };
      assert.equal(await insert(readable), 'stored');
      assert.deepEqual(await counts(), { rows: '15', distinct: '15' });
    }
  });

  it('ends a running attempt before it asks for stored rows', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    const segment = segments.begin();
    const { first } = segmentSeqRange(segment);
    const queryId = `${engine.storage.database}-segment-${segment}`;
    // As slow as an engine that still accepts an INSERT.
    const slow = engine.storage.command(
      `INSERT INTO events (seq, org, time, expires) SELECT {first:UInt64} + number, generateUUIDv4(), now64(6), '2149-06-06'
       FROM numbers(1000) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1`,
      { first },
      { queryId, timeoutMs: 60_000 },
    );
    const ended = assert.rejects(slow, { engineCode: 394 });
    while ((await underWay(queryId)) === 0) await sleep(10);
    assert.equal(await insert(insertOf([fc.sample(row, 20)], true)), 'stored');
    await ended;
    assert.equal(await underWay(queryId), 0);
    assert.deepEqual(await counts(), { rows: '20', distinct: '20' });
  });

  it('the engine drops no rows as duplicates', async () => {
    // A crash can leave the memory of a block without the block. Then the second INSERT is the only one.
    const insert = createSegmentInsert(engine.storage, silentLog);
    segments.begin();
    const sent = insertOf([fc.sample(row, 30)], false);
    assert.equal(await insert(sent), 'stored');
    assert.equal(await insert(sent), 'stored');
    assert.deepEqual(await counts(), { rows: '60', distinct: '30' });
  });

  it('stores a segment once when the engine took it but its answer was lost', async () => {
    const proxy = await startFaultProxy(Number(new URL(engine.connection.url).port));
    const storage = openStorage({ ...engine.connection, url: proxy.url }, silentLog);
    try {
      const insert = createSegmentInsert(storage, silentLog);
      const blocks = [fc.sample(row, 40)];
      for (const cutAfterBytes of [0, 10, 100]) {
        segments.begin();
        proxy.set({ cutAfterBytes });
        await assert.rejects(insert(insertOf(blocks, false)), { name: 'EngineError' });
        proxy.set('none');
        assert.equal(await insert(insertOf(blocks, true)), 'stored');
        assert.deepEqual(await counts(), { rows: '40', distinct: '40' });
      }
    } finally {
      await storage.close();
      await proxy.stop();
    }
  });

  it('stores a segment once when the engine has too little memory for it at first', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    const [base] = fc.sample(row, 1) as [Row];
    const rows = Array.from({ length: 2000 }, (_, n) => ({ ...base, source: `${n} ${'s'.repeat(4000)}` }));
    segments.begin();
    const starved: Storage = {
      ...engine.storage,
      insertNative(query, body, options) {
        const settings = { ...options?.settings, max_memory_usage: 1_000_000 };
        return engine.storage.insertNative(query, body, { ...options, settings });
      },
    };
    const first = createSegmentInsert(starved, silentLog);
    await assert.rejects(first(insertOf([rows], false)), { engineCode: 241 });
    await assert.rejects(first(insertOf([rows], true)), { engineCode: 241 });
    assert.equal(await insert(insertOf([rows], true)), 'stored');
    assert.deepEqual(await counts(), { rows: '2000', distinct: '2000' });
  });

  it('makes one part of a segment, with any times of its events', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    segments.begin();
    const [base] = fc.sample(row, 1) as [Row];
    // An event of each month from 1970 to 2199, in two blocks.
    const rows = Array.from({ length: 2760 }, (_, month) => ({
      ...base,
      retentionDays: undefined,
      timeMicros: Date.UTC(1970, month) * 1000,
    }));
    const sent = [rows.slice(0, 2000), rows.slice(2000)];
    assert.equal(await insert(insertOf(sent, false)), 'stored');
    assert.equal(await insert(insertOf(sent, true)), 'stored');
    assert.deepEqual(await counts(), { rows: '2760', distinct: '2760' });
    const parts = await engine.storage.rows(
      'SELECT DISTINCT _part AS part FROM events WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}',
      segments.range,
    );
    assert.equal(parts.length, 1);
  });

  it('condemns content that the engine cannot read, but only at the second look', async () => {
    const insert = createSegmentInsert(engine.storage, silentLog);
    const segment = segments.begin();
    const broken = {
      ...insertOf([fc.sample(row, 3)], false),
      body: () => [Buffer.from([17, 1, 3, 0x6f, 0x72])],
    };
    await assert.rejects(insert(broken), { name: 'EngineError' });
    assert.equal(await insert({ ...broken, earlier: [segment] }), 'refused');
  });
});

describe('order of events', () => {
  it('rises with the clock, and without it, for each writer, and never repeats between writers', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(63), fc.integer({ min: -5000, max: 5000 })), { minLength: 2 }),
        (steps) => {
          const last = new Map<number, number>();
          const seen = new Set<number>();
          for (const [writer, drift] of steps) {
            const number = nextSegmentNumber(Date.UTC(2026, 5, 1) + drift, writer, last.get(writer) ?? 0);
            assert.ok(number > (last.get(writer) ?? 0));
            assert.equal(number % 64, writer);
            assert.ok(Number.isSafeInteger(number) && !seen.has(number));
            last.set(writer, number);
            seen.add(number);
          }
        },
      ),
    );
  });

  it('is the segment above and the row below, as the engine reads it', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 44 - 1), fc.nat(rowsPerSegmentMax - 3), (number, firstRow) => {
        const column = Buffer.from(encodeSeqColumn(number, firstRow, 2));
        const first = BigInt(number) * BigInt(rowsPerSegmentMax) + BigInt(firstRow);
        assert.equal(column.readBigUInt64LE(0), first);
        assert.equal(column.readBigUInt64LE(8), first + 1n);
      }),
    );
  });
});

function fromEngine(found: Record<string, unknown>): unknown {
  const { time: _time, expires: _expires, ...rest } = found;
  return rest;
}

function expected(sent: Row, seq: bigint): unknown {
  const days = Math.floor(sent.timeMicros / 86_400_000_000) + (sent.retentionDays ?? 1e9) + 1;
  return {
    org: sent.org,
    seq: String(seq),
    activity_id: String(sent.activityId),
    activity_name: sent.activityName,
    severity: sent.severity,
    status: sent.status,
    level: sent.level,
    result_code: String(sent.resultCode),
    actor_email: sent.actorEmail,
    actor_id: sent.actorId,
    names: sent.names,
    file_hash: sent.fileHashes,
    file_name: sent.fileName,
    target_name: sent.targetName,
    flow_id: sent.flowId === '' ? '00000000-0000-0000-0000-000000000000' : sent.flowId,
    ocsf: sent.ocsf,
    source: sent.source,
    micros: String(sent.timeMicros),
    expiry: Math.min(65_535, days),
    own: false,
  };
}
