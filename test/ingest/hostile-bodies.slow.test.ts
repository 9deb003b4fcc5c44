import { strict as assert } from 'node:assert';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants as gc, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { buffers } from '../../src/base/bytes/buffer-pool.ts';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { limits } from '../../src/ingest/limits.ts';
import { renderMetrics } from '../../src/base/observability/metrics.ts';
import type { Problem } from '../../src/base/errors/problem.ts';
import { type Ingest, openIngest } from '../../src/ingest/ingest.ts';
import type { IngestRequest } from '../../src/ingest/request.ts';
import { type LoggedLine, recordingLogger } from '../http/support.ts';
import { builtWorker } from '../support/cli-command.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { patience } from '../support/patience.ts';

const zstd = await Zstd.load();
const encoders = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body, { level: 1 }),
  deflate: (body: Buffer) => deflateSync(body, { level: 1 }),
  br: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (body: Buffer) => zstd.compress(body, 1),
} as const;
type Encoding = keyof typeof encoders;

const organizationOf = (slug: string) => ({
  id: `0b7f2a50-0000-4000-8000-${Buffer.from(slug.padEnd(6)).toString('hex')}`,
  slug,
  retentionDays: undefined,
});
const good = (marker: string): string => `{"time":0,"message":{"action":1,"extra":{"marker":"${marker}"}}}`;

function request(slug: string, body: string | Buffer, more: Partial<IngestRequest> = {}): IngestRequest {
  const encode = encoders[more.encoding ?? 'identity'];
  return {
    form: 'ndjson',
    encoding: 'identity',
    organization: organizationOf(slug),
    apiKey: `key-of-${slug}`,
    idempotency: undefined,
    ...more,
    body: new Uint8Array(encode(Buffer.from(body))),
  };
}

/** More than one, so that pieces of a body are mapped concurrently. */
const workers = 2;
let dataDir: string;
let ingest: Ingest;
const stored: string[] = [];
/** Whether the test reads stored events. */
let isRead = true;
const logged: LoggedLine[] = [];

before(async () => {
  dataDir = await temporaryDirectory();
  ingest = await openIngest({
    dataDir,
    log: recordingLogger(logged),
    workers,
    appName: 'Test',
    workerFile: builtWorker,
    redactKeys: [],
    bodyBytesMax: 32 * 1024 * 1024,
    flushIntervalMs: 20,
    segmentBytes: 1e8,
    walBytesMax: 1e9,
    damage: new DamageRegister(),
    directory: () => ({ version: 1, json: Buffer.from('[]') }),
    async sink({ body }) {
      if (!isRead) return 'stored';
      const text = Buffer.concat(body(1)).toString('latin1');
      stored.push(...[...text.matchAll(/"extra":\{"marker":"([^"]+)"/g)].map((match) => match[1] as string));
      return 'stored';
    },
  });
});
after(async () => {
  await ingest?.close();
  await removeDirectory(dataDir);
});

/** Events stored since the last call. */
async function storedSince(): Promise<string[]> {
  assert.equal(await ingest.flush(patience(20_000)), true);
  return stored.splice(0);
}

async function refusalOf(asked: IngestRequest): Promise<Problem> {
  return ingest.accept(asked).then(
    () => assert.fail('the body was accepted'),
    (error: unknown) => error as Problem,
  );
}

describe('a body with more rejected events than one may have', () => {
  // The shortest elements, and some that are divided into as many.
  for (const [encoding, form, bad] of [
    ['gzip', 'ndjson', '1'],
    ['identity', 'json', '1'],
    ['identity', 'ndjson', '"a longer element"'],
    ['gzip', 'json', '"a longer element"'],
  ] as const)
    it(`is accepted with ${limits.rejectedEventsMax} of them and refused whole with one more: ${encoding} ${form} of ${bad}`, async () => {
      const bodyOf = (count: number): string => {
        const elements = [good('first'), ...Array<string>(count).fill(bad), good('last')];
        return form === 'json' ? `[${elements.join(',')}]` : elements.join('\n');
      };
      const most = bodyOf(limits.rejectedEventsMax);
      assert.equal(
        encoding === 'identity' && most.length > limits.splitBytesMin,
        bad !== '1' && encoding === 'identity',
      );
      const answer = await ingest.accept(request('a', most, { form, encoding }));
      assert.deepEqual([answer.accepted, answer.rejected], [2, limits.rejectedEventsMax]);
      assert.deepEqual(await storedSince(), ['first', 'last']);

      const over = await refusalOf(request('a', bodyOf(limits.rejectedEventsMax + 1), { form, encoding }));
      assert.equal(over.code, 'too_many_events');
      assert.match(over.message, /^More than 100000 events of the body were rejected/);
      const { accepted, rejected, errors } = over.options.members as Record<string, unknown>;
      assert.deepEqual([accepted, rejected], [0, limits.rejectedEventsMax + 1]);
      assert.deepEqual(
        (errors as { index: number }[]).map(({ index }) => index),
        Array.from({ length: limits.rejectedErrorsReportedMax }, (_, n) => n + 1),
      );
      assert.deepEqual(await storedSince(), []);
    });
});

describe('a body that is a bomb', () => {
  it('with more elements than allowed is refused with that reason', async () => {
    const elements = 'x,'.repeat(limits.batchEventsMax + 1);
    for (const body of [`[${elements}1]`, `[${good('never')},${elements}1]`]) {
      const { code, message } = await refusalOf(request('a', body, { form: 'json', encoding: 'gzip' }));
      assert.equal(code, 'too_many_events');
      assert.match(message, /^The body contains more than 1000000 events/);
    }
    assert.deepEqual(await storedSince(), []);
  });

  for (const encoding of Object.keys(encoders) as Encoding[]) {
    it(`does not hold the single events of another organization: ${encoding}`, async () => {
      const order: string[] = [];
      const { body } = request('a', Buffer.alloc(8 * 1024 * 1024, 0x0a), { encoding });
      // Together they take longer than three events on a busy disk.
      const bombs = Array.from({ length: 12 }, async () => {
        const { code } = await refusalOf({ ...request('a', '', { encoding }), body: Uint8Array.from(body) });
        order.push(code);
      });
      for (const marker of ['1', '2', '3']) {
        await ingest.accept(request('b', good(marker)));
        order.push(marker);
      }
      await Promise.all(bombs);
      assert.equal(order.length, 15);
      assert.equal(order.at(-1), 'nothing_accepted');
      assert.deepEqual(await storedSince(), ['1', '2', '3']);
    });
  }

  it('waits for those before it of its own organization, and a batch of another does not', async () => {
    const bombs = 40;
    let answered = 0;
    // Large after decompression: together they take longer than the batch on a busy disk.
    const bomb = request('a', Buffer.alloc(8 * limits.splitBytesMin, 0x0a), { encoding: 'gzip' });
    const all = Array.from({ length: bombs }, async () => {
      await refusalOf({ ...bomb, body: Uint8Array.from(bomb.body) });
      answered += 1;
    });
    const batch = [good('batch'), ' '.repeat(limits.smallBodyBytesMax)].join('\n');
    await ingest.accept(request('b', batch));
    assert.ok(answered <= bombs / 2, `${answered} of ${bombs} were answered before`);
    await Promise.all(all);
    assert.deepEqual(await storedSince(), ['batch']);
  });

  it('is refused with 429 when too many of its organization wait, and others still are not', async () => {
    const workedOn = workers + limits.largeBodiesBeyondThreads;
    const count = limits.largeBodiesWaitingPerOrganizationMax + workedOn + 8;
    const codes: string[] = [];
    const all = Array.from({ length: count }, () =>
      refusalOf(request('a', '\n', { encoding: 'gzip' })).then(({ code }) => codes.push(code)),
    );
    assert.equal((await ingest.accept(request('b', good('other'), { encoding: 'gzip' }))).accepted, 1);
    await Promise.all(all);
    assert.equal(codes.filter((code) => code === 'rate_limited').length, 8);
    assert.deepEqual(await storedSince(), ['other']);
  });
});

/** Takes all unused buffers of this thread, of any size. */
function emptyPool(): void {
  for (let bytes = 64 * 1024; buffers.unusedBytes() > 0; bytes *= 2) {
    let before: number;
    do {
      before = buffers.unusedBytes();
      buffers.take(bytes);
    } while (buffers.unusedBytes() < before);
  }
}

/** Major collections of this thread during `work`. */
async function collectionsDuring(work: () => Promise<void>): Promise<number> {
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[];
    collections += entries.filter(({ detail }) => detail.kind === gc.NODE_PERFORMANCE_GC_MAJOR).length;
  });
  observer.observe({ entryTypes: ['gc'] });
  await work();
  // Entries come in a later turn.
  await sleep(50);
  observer.disconnect();
  return collections;
}

// Otherwise each body is tens of buffers, and the main thread pauses while it frees them (bench: hostile.*).
describe('the memory of a large body', () => {
  it('is used again for each piece without a good event, so that the collector has nothing to do', async () => {
    const rounds = 8;
    const compressed = request('a', Buffer.alloc(32 * 1024 * 1024, '\n'), { encoding: 'gzip' });
    const refused = (): Promise<Problem> =>
      refusalOf({ ...compressed, body: Uint8Array.from(compressed.body) });
    assert.equal((await refused()).code, 'nothing_accepted');
    const before = process.memoryUsage().arrayBuffers;
    const collections = await collectionsDuring(async () => {
      for (let round = 0; round < rounds; round += 1) await refused();
    });
    assert.ok(collections < rounds, `${collections} major collections`);
    // The collector does not count shared memory: 32 MiB a body would stay for long.
    const more = process.memoryUsage().arrayBuffers - before;
    assert.ok(more < 32 * 1024 * 1024, `${more} bytes more after ${rounds} bodies of 32 MiB`);
  });

  it('is used again when its events are stored and their segment was read back', async () => {
    const rounds = 4;
    const deep = `{"time":0,"message":{"action":1,"extra":{"a":${'['.repeat(120)}${']'.repeat(120)}}}}\n`;
    const compressed = request('a', deep.repeat(Math.floor(8e6 / deep.length)), { encoding: 'gzip' });
    const send = async (): Promise<void> => {
      await ingest.accept({ ...compressed, body: Uint8Array.from(compressed.body) });
      assert.equal(await ingest.flush(60_000), true);
    };
    isRead = false;
    // The first bodies find no free buffer.
    for (let round = 0; round < rounds; round += 1) await send();
    const collections = await collectionsDuring(async () => {
      for (let round = 0; round < rounds; round += 1) await send();
    });
    isRead = true;
    // Without the pool more than one a body; other allocations may cause some.
    assert.ok(collections < rounds, `${collections} major collections`);
  });

  it('is given back when its good events are refused with it', async () => {
    const rejected = '1\n'.repeat(limits.rejectedEventsMax + 1);
    const body = Buffer.from(`${good('lost')}\n`.repeat(100_000) + rejected);
    emptyPool();
    assert.equal((await refusalOf(request('a', body, { encoding: 'gzip' }))).code, 'too_many_events');
    // The memory of the mapped good events, more than their bytes.
    assert.ok(buffers.unusedBytes() > good('lost').length * 100_000);
  });
});

describe('NDJSON sent as one JSON value', () => {
  it('is named in the error, and other bodies are not', async () => {
    const lines = `${good('a')}\n${good('b')}\n`;
    for (const body of [lines, `\ufeff\r\n${lines}`, lines.repeat(10_000)]) {
      const { code, message } = await refusalOf(request('a', body, { form: 'json' }));
      assert.equal(code, 'malformed');
      assert.match(message, /NDJSON.*application\/json.*application\/x-ndjson/);
    }
    for (const body of ['{\n"a":1}\n{}', '{"a":1}{}', '{"a":1\n}', '{"a":1}\n', '"a"\n{}']) {
      const { message } = await refusalOf(request('a', body, { form: 'json' }));
      assert.doesNotMatch(message, /NDJSON/, body);
    }
  });
});

describe('the Idempotency-Key "body"', () => {
  const idempotency = { apiKey: 'key-of-a', key: 'body' };

  it('does not remember a body that was refused', async () => {
    for (let n = 0; n < 2; n++) {
      const { code, options } = await refusalOf(request('a', '{}\n1', { idempotency }));
      assert.equal(code, 'nothing_accepted');
      assert.equal(options.members?.['rejected'], 2);
    }
    assert.equal((await refusalOf(request('a', '[1', { idempotency, form: 'json' }))).code, 'malformed');
  });
});

describe('rejected events', () => {
  /** The metric by reason, and in total. */
  async function counted(): Promise<Record<string, number>> {
    const text = await renderMetrics();
    const found = text.matchAll(
      /^auditlog_ingest_(?:rejected|events)_total\{(?:reason|outcome)="(\w+)"\} (\d+)$/gm,
    );
    return Object.fromEntries([...found].map((match) => [match[1], Number(match[2])]));
  }

  it('count by reason, in refused bodies too, and the first of a key and reason is logged without content', async () => {
    const earlier = await counted();
    logged.length = 0;
    const secret = 'do-not-log-me';
    const bad = [`{"a":"${secret}`, `{"time":"${secret}","message":{"action":1}}`, '{}', '{}'];
    await ingest.accept(request('m', [...bad, good('m')].join('\n')));
    await refusalOf(request('m', bad.join('\n')));
    await refusalOf(
      request(
        'm',
        Array<string>(limits.rejectedEventsMax + 1)
          .fill('1')
          .join('\n'),
      ),
    );
    const now = await counted();
    const more = Object.fromEntries(Object.entries(now).map(([name, n]) => [name, n - (earlier[name] ?? 0)]));
    assert.equal(more['json'], 2);
    assert.equal(more['time'], 2);
    assert.equal(more['required'], 4);
    assert.equal(more['object'], limits.rejectedEventsMax + 1);
    assert.equal(more['accepted'], 1);
    assert.equal(more['rejected'], limits.rejectedEventsMax + 9);
    const lines = logged.filter(({ facts }) => facts['api_key'] === 'key-of-m').map(({ facts }) => facts);
    assert.deepEqual(
      lines.map(({ reason }) => reason),
      ['json', 'time', 'required', 'object'],
    );
    assert.match(String(lines[2]?.['rule']), /^\/message: is required$/);
    assert.doesNotMatch(JSON.stringify(logged), new RegExp(secret));
    assert.deepEqual(await storedSince(), ['m']);
  });
});
