import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { crc32c } from '@node-rs/crc32';
import { buffers } from '../../src/base/bytes/buffer-pool.ts';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import type { SegmentInsert } from '../../src/base/events/segment-insert.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { FrameMemory } from '../../src/ingest/frame-memory.ts';
import { type Ingest, openIngest } from '../../src/ingest/ingest.ts';
import type { BatchAnswer } from '../../src/ingest/answer-records.ts';
import type { IngestRequest } from '../../src/ingest/request.ts';
import { readIntact } from '../../src/ingest/segment-reader.ts';
import {
  encodeFileHeader,
  encodeRequests,
  fileHeaderBytes,
  frameSeed,
  segmentName,
} from '../../src/ingest/segment.ts';
import { feedBody } from '../../src/read/feed-table.ts';
import { RowCutter } from '../../src/read/ocsf110/rows.ts';
import { writeFile } from 'node:fs/promises';
import { SharedCounts } from '../../src/redis/shared-counts.ts';
import { builtWorker } from '../support/cli-command.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { patience } from '../support/patience.ts';
import { skipWithoutRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { sharedEngine } from '../support/shared.ts';

const organization = { id: '0b7f2a50-0000-4000-8000-000000000002', slug: 'acme', retentionDays: undefined };

/** A body too large for the thread of small ones; all its events have this letter. */
function letters(letter: string, events = 40): Buffer {
  const event = { action: 1001, extra: { text: letter.repeat(1000) } };
  return Buffer.from(`${JSON.stringify({ time: '2026-05-01T10:00:00Z', message: event })}\n`.repeat(events));
}

function request(body: Buffer, key?: string): IngestRequest {
  // Pooled memory, as for a received body.
  const bytes = new Uint8Array(buffers.take(body.length).handOver(), 0, body.length);
  bytes.set(body);
  const idempotency = key === undefined ? undefined : { apiKey: 'key', key };
  return { body: bytes, form: 'ndjson', encoding: 'identity', organization, idempotency };
}

describe('memory that is used again has one owner', () => {
  let directory: string;
  before(async () => {
    directory = await temporaryDirectory();
  });
  after(() => removeDirectory(directory));

  /** After this no buffer has two owners. */
  function assertOwnedOnce(bytes: number): void {
    const leases = Array.from({ length: 12 }, () => buffers.take(bytes));
    assert.equal(new Set(leases.map(({ memory }) => memory)).size, leases.length);
    for (const lease of leases) lease.release();
  }

  async function segment() {
    const payload = Buffer.alloc(300_000, 1);
    const input = { rows: 1, payload, payloadCrc: crc32c(payload), notes: '' };
    const position = { seed: frameSeed(7), firstRow: 0, durableBytes: fileHeaderBytes };
    const frames = encodeRequests([{ frames: [input] }], position);
    const bytes = Buffer.concat([encodeFileHeader(7), ...frames.flatMap(({ parts }) => parts)]);
    await writeFile(join(directory, segmentName(7)), bytes);
    const read = await readIntact(await openLogFiles(directory), { number: 7, bytes: bytes.length, rows: 1 });
    assert.ok(read);
    return read;
  }

  async function page() {
    const { storage } = await sharedEngine();
    const held = await storage.bytes('SELECT 1', {}, { headroom: 8, tailroom: 8, bytesMax: 1_000_000 });
    assert.ok('release' in held);
    return held;
  }

  const owners: Record<string, () => Promise<{ release(): void }> | { release(): void }> = {
    'frames that were mapped': () => new FrameMemory([buffers.take(300_000).handOver()]),
    'a segment that was read back': segment,
    'a page of the engine': page,
    'a page of the feed': () => {
      const body = feedBody(Buffer.alloc(300_000), '');
      assert.ok('release' in body);
      return body;
    },
    'rows for the threads of readers': () => new RowCutter(),
  };
  for (const [name, own] of Object.entries(owners)) {
    it(`${name}: released twice it is there once`, async () => {
      const owner = await own();
      owner.release();
      owner.release();
      for (const bytes of [60_000, 100_000, 300_000, 1_000_000]) assertOwnedOnce(bytes);
    });
  }

  it('frames whose append failed are never reused, after any release', async () => {
    const memory = buffers.take(300_000).handOver();
    const frames = new FrameMemory([memory]);
    await assert.rejects(frames.lend(() => Promise.reject(new Error('the disk fails'))));
    frames.release();
    const leases = Array.from({ length: 50 }, () => buffers.take(300_000));
    assert.ok(leases.every((lease) => lease.memory !== memory));
    for (const lease of leases) lease.release();
  });
});

const others = 'abcdefghijklmnopABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');

describe('repeats of what another server has answered', { skip: skipWithoutRedis }, () => {
  const dirs: string[] = [];
  const opened: Ingest[] = [];
  const stored: string[] = [];
  let redis: TestRedis | undefined;
  let shared: SharedCounts | undefined;
  before(async () => {
    redis = await startRedis();
    shared = await SharedCounts.open({ url: redis.url, secret: randomUUID(), log: silentLog });
  });
  after(async () => {
    shared?.stop();
    await redis?.stop();
    for (const one of opened) await one.close();
    for (const directory of dirs) await removeDirectory(directory);
  });

  async function start(): Promise<Ingest> {
    const dataDir = await temporaryDirectory();
    dirs.push(dataDir);
    const ingest = await openIngest({
      dataDir,
      log: silentLog,
      workers: 2,
      appName: 'Test',
      workerFile: builtWorker,
      redactKeys: [],
      bodyBytesMax: 4 * 1024 * 1024,
      flushIntervalMs: 20,
      segmentBytes: 1024 * 1024,
      walBytesMax: 64 * 1024 * 1024,
      sink: ({ body }: SegmentInsert) => {
        const text = Buffer.concat(body(1)).toString('latin1');
        // The source of an event, as sent.
        for (const [, found] of text.matchAll(/"extra":\{"text":"([^"]*)"/g)) stored.push(found as string);
        return Promise.resolve('stored');
      },
      damage: new DamageRegister(),
      sharedAnswers: shared?.answers<BatchAnswer>(randomUUID()),
      directory: () => ({ version: 1, json: Buffer.from('[]') }),
    });
    opened.push(ingest);
    return ingest;
  }

  it('leave every body with its own bytes', async () => {
    const [one, two] = [await start(), await start()];
    const keys = Array.from({ length: 36 }, () => randomUUID());
    const first = await Promise.all(keys.map((key) => one.accept(request(letters('r'), key))));
    const again = await Promise.all(keys.map((key) => two.accept(request(letters('r'), key))));
    assert.deepEqual(again, first);
    await assert.rejects(two.accept(request(letters('s'), keys[0])), /used for another body/);
    // Enough to reuse all memory that the repeats freed.
    const bodies = others.map((letter) => request(letters(letter, 200)));
    await Promise.all(bodies.map((body) => two.accept(body)));
    assert.ok(await one.flush(patience(10_000)));
    assert.ok(await two.flush(patience(10_000)));
    const expected = new Map([['r', 36 * 40], ...others.map((letter) => [letter, 200] as const)]);
    const found = new Map<string, number>();
    for (const text of stored) {
      const letter = text[0] as string;
      assert.equal(text, letter.repeat(1000), 'an event has bytes of another');
      found.set(letter, (found.get(letter) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(expected));
  });
});
