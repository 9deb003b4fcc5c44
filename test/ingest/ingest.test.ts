import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { readdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants } from 'node:zlib';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { limits } from '../../src/ingest/limits.ts';
import type { Problem } from '../../src/base/errors/problem.ts';
import type { SegmentInsert, SegmentSink } from '../../src/base/events/segment-insert.ts';
import { type Ingest, type IngestOptions, openIngest } from '../../src/ingest/ingest.ts';
import type { IngestRequest } from '../../src/ingest/request.ts';
import { builtWorker } from '../support/cli-command.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';

const organization = { id: '0b7f2a50-0000-4000-8000-000000000001', slug: 'acme', retentionDays: undefined };

function event(marker: string): string {
  return JSON.stringify({ time: '2026-05-01T10:00:00Z', message: { action: 1001, extra: { marker } } });
}

function request(body: string, idempotencyKey?: string): IngestRequest {
  return {
    body: new Uint8Array(Buffer.from(body)),
    form: 'ndjson',
    encoding: 'identity',
    organization,
    idempotency: idempotencyKey === undefined ? undefined : { apiKey: 'key', key: idempotencyKey },
  };
}

/** Markers of a segment's events, in the bytes that the engine would get. */
function markers({ body }: SegmentInsert): string[] {
  const text = Buffer.concat(body(1)).toString('latin1');
  return [...text.matchAll(/"extra":\{"marker":"([^"]+)"/g)].map((match) => match[1] as string);
}

const until = (condition: () => boolean) =>
  eventually(String(condition), async () => condition() || undefined, 10_000, 5);

describe('ingest, from request to sink', () => {
  const open: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close();
  });

  async function start(
    sink: SegmentSink,
    options: Partial<IngestOptions> = {},
  ): Promise<{ ingest: Ingest; dataDir: string }> {
    const dataDir = options.dataDir ?? (await temporaryDirectory());
    const ingest = await openIngest({
      dataDir,
      log: silentLog,
      workers: 1,
      appName: 'Test',
      workerFile: builtWorker,
      redactKeys: [],
      bodyBytesMax: 1024 * 1024,
      flushIntervalMs: 20,
      segmentBytes: 64 * 1024,
      walBytesMax: 1024 * 1024,
      sink,
      damage: new DamageRegister(),
      directory: () => ({ version: 1, json: Buffer.from('[]') }),
      ...options,
    });
    if (options.dataDir === undefined) open.push(() => removeDirectory(dataDir));
    open.push(() => ingest.close());
    return { ingest, dataDir };
  }

  it('sends again, with doubt, until the sink has stored a segment, and then forgets it', async () => {
    const seen: { doubtful: boolean; markers: string[] }[] = [];
    const { ingest, dataDir } = await start(async (insert) => {
      seen.push({ doubtful: insert.earlier.length > 0, markers: markers(insert) });
      await insert.take([]);
      if (seen.length < 4) throw new Error('not now');
      return 'stored';
    });
    await ingest.accept(request(event('a')));
    await until(() => seen.length === 4);
    assert.deepEqual(
      seen.map(({ doubtful }) => doubtful),
      [false, true, true, true],
    );
    for (const one of seen) assert.deepEqual(one.markers, ['a']);
    assert.equal(await ingest.flush(patience(5_000)), true);
    // In the end only the open segment is left, whose name keeps numbers rising.
    await until(() => readdirSync(join(dataDir, 'wal')).filter((name) => name.endsWith('.wal')).length === 1);
  });

  it('sets a refused segment aside and continues with the others', async () => {
    const stored: string[] = [];
    const damage = new DamageRegister();
    const sink: SegmentSink = async (insert) => {
      if (markers(insert).includes('poison')) return 'refused';
      stored.push(...markers(insert));
      return 'stored';
    };
    const { ingest, dataDir } = await start(sink, { damage });
    await ingest.accept(request(event('poison')));
    assert.equal(await ingest.flush(patience(5_000)), true);
    await ingest.accept(request(event('good')));
    assert.equal(await ingest.flush(patience(5_000)), true);
    assert.deepEqual(stored, ['good']);
    const names = await readdir(join(dataDir, 'wal'));
    const [kept = '', ...others] = names.filter((name) => name.endsWith('.refused'));
    assert.deepEqual(others, []);
    assert.deepEqual(
      damage.list().map(({ kind, id }) => [kind, id]),
      [['log_segment', String(Number.parseInt(kept, 10))]],
    );
  });

  const batch = Array.from({ length: 500 }, (_, n) => event(`${n}`)).join('\n');

  /** Four producers that offer 40,000 rows a second together, for this time and until this number is accepted. */
  async function produce(
    ingest: Ingest,
    { forMs, rowsMin }: { readonly forMs: number; readonly rowsMin: number },
    accepted: (rows: number) => void,
  ): Promise<void> {
    let rows = 0;
    // Large enough to start the thread for batches.
    await ingest.accept(request(event('warm-up') + ' '.repeat(limits.smallBodyBytesMax)));
    const end = Date.now() + forMs;
    const one = async (): Promise<void> => {
      while (Date.now() < end || rows < rowsMin) {
        const pause = sleep(50);
        const answer = await ingest.accept(request(batch));
        rows += answer.accepted;
        accepted(answer.accepted);
        await pause;
      }
    };
    await Promise.all([one(), one(), one(), one()]);
    assert.equal(await ingest.flush(patience(10_000)), true);
  }

  it('takes no more than the sink does once that is behind, so that nothing waits for long', async () => {
    const rowsPerMs = 20;
    let stored = 0;
    let busy = Promise.resolve();
    const { ingest } = await start(
      async ({ rows }) => {
        busy = busy.then(() => sleep(rows / rowsPerMs));
        await busy;
        stored += rows;
        return 'stored';
      },
      { flushIntervalMs: 100, segmentBytes: 1024 * 1024, walBytesMax: 2e9 },
    );
    let accepted = 1;
    let waiting = 0;
    // On a busy machine it takes longer to fall behind.
    await produce(ingest, { forMs: 5000, rowsMin: 1000 * rowsPerMs }, (rows) => {
      accepted += rows;
      waiting = Math.max(waiting, accepted - stored);
    });
    assert.equal(stored, accepted);
    // Without a throttle, 100,000.
    assert.ok(waiting < 2000 * rowsPerMs, `${waiting} of ${accepted} rows waited`);
  });

  it('lets the open segment grow while a sealed one waits, and seals it when that is on its way', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const stored: string[] = [];
    const { ingest } = await start(async (insert) => {
      await held;
      stored.push(...markers(insert));
      return 'stored';
    });
    const sent = Array.from({ length: 25 }, (_, n) => `m${n}`);
    for (const marker of sent) {
      await ingest.accept(request(event(marker)));
      await sleep(20);
    }
    assert.equal(ingest.unsent(), limits.segmentsInFlightMax + 1);
    release();
    await until(() => stored.length === sent.length);
    assert.deepEqual(stored.toSorted(), sent.toSorted());
  });

  it('answers 503 when the log is full and recovers by itself when the sink does', async () => {
    let works = false;
    const stored: string[] = [];
    const { ingest } = await start(async (insert) => {
      if (!works) throw new Error('down');
      stored.push(...markers(insert));
      return 'stored';
    });
    const accepted: string[] = [];
    const refusals: unknown[] = [];
    for (let i = 0; i < 400 && refusals.length === 0; i++) {
      const name = `m${i}`;
      const filler = Array.from({ length: 20 }, (_, n) => event(`${name}.${n}`));
      await ingest.accept(request(filler.join('\n'))).then(
        () => accepted.push(...filler.map((_, n) => `${name}.${n}`)),
        (error: unknown) => refusals.push(error),
      );
    }
    const [refusal] = refusals as { code: string; options: { retryAfterSeconds: number } }[];
    assert.equal(refusal?.code, 'unavailable');
    assert.ok(refusal.options.retryAfterSeconds > 0);
    assert.equal(ingest.logFailure(), 'full');
    works = true;
    await until(() => ingest.logFailure() === undefined);
    await ingest.accept(request(event('after')));
    assert.equal(await ingest.flush(patience(10_000)), true);
    assert.deepEqual(new Set(stored), new Set([...accepted, 'after']));
    assert.equal(stored.length, accepted.length + 1);
  });

  it('reports a deleted segment once, and continues with the others', async () => {
    const stored: string[] = [];
    const damage = new DamageRegister();
    let isDown = true;
    const { ingest, dataDir } = await start(
      async (insert) => {
        if (isDown) throw new Error('not now');
        stored.push(...markers(insert));
        return 'stored';
      },
      { damage, segmentBytes: 4096 },
    );
    for (const marker of ['first', 'second']) await ingest.accept(request(event(marker + 'x'.repeat(8000))));
    await until(() => ingest.unsent() === 2);
    const wal = join(dataDir, 'wal');
    const names = (await readdir(wal)).filter((name) => name.endsWith('.wal')).sort();
    await unlink(join(wal, names[0] as string));
    // An attempt in progress may have read it.
    await until(() => damage.list().length === 1);
    isDown = false;
    assert.equal(await ingest.flush(60_000), true);
    assert.deepEqual(
      stored.map((marker) => marker.replaceAll('x', '')),
      ['second'],
    );
    const number = Number(names[0]?.slice(0, 16));
    assert.deepEqual(damage.list(), [
      { kind: 'log_segment', id: String(number), detail: 'the file of 1 events is missing' },
    ]);
  });

  it('stores the events of others, and lets their order settle, while a large body of one is being inserted', async () => {
    const stored: string[] = [];
    let end = (): void => {};
    const held = new Promise<void>((resolve) => (end = resolve));
    let isInserting = false;
    let ofLarge = 0;
    const { ingest } = await start(
      async (insert) => {
        const names = markers(insert);
        const number = await insert.take([]);
        if (names.includes('large')) {
          ofLarge = number;
          isInserting = true;
          await held;
        }
        stored.push(...names);
        return 'stored';
      },
      { bodyBytesMax: 64 * 1024 * 1024, walBytesMax: 1e9, segmentBytes: 64 * 1024 * 1024 },
    );
    const pad = `{"time":0,"message":{"action":1,"extra":{"pad":"${'x'.repeat(900_000)}"}}}\n`;
    const body = `${pad.repeat(12)}${event('large')}`;
    assert.ok(body.length * 2 > limits.walLargeAppendBytesMin, 'an event is in the log twice');
    const large = request(body);
    const other = '11111111-1111-4111-8111-111111111111';
    const small = { ...request(event('small')), organization: { ...organization, id: other } };
    await ingest.accept(large);
    await until(() => isInserting);
    await ingest.accept(small);
    await until(() => stored.length > 0);
    assert.deepEqual(stored, ['small']);
    await until(() => ingest.unsent() === 1);
    const { lowest, ofOrganization } = ingest.watermarks();
    assert.deepEqual([...ofOrganization], [[organization.id, ofLarge]]);
    assert.ok(lowest > ofLarge, 'the feed of the other may go so far');
    assert.equal(ingest.lastNumberOf(organization.id), undefined);
    end();
    assert.equal(await ingest.flush(patience(20_000)), true);
    assert.deepEqual(stored, ['small', 'large']);
    assert.ok(ingest.watermarks().lowest > (ingest.lastNumberOf(organization.id) ?? Infinity));
    assert.ok((ingest.lastNumberOf(other) ?? 0) > ofLarge);
  });

  it('gathers many small requests into few segments and answers each for itself', async () => {
    let segments = 0;
    const stored: string[] = [];
    const { ingest } = await start(
      async (insert) => {
        segments += 1;
        stored.push(...markers(insert));
        return 'stored';
      },
      { flushIntervalMs: 200 },
    );
    const answers = await Promise.allSettled(
      Array.from({ length: 300 }, (_, n) =>
        ingest.accept(request(n % 10 === 0 ? '{"broken":' : event(`s${n}`))),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 'rejected').length, 30);
    assert.equal(await ingest.flush(patience(5_000)), true);
    assert.equal(stored.length, 270);
    assert.ok(segments <= 3, `${segments} segments`);
  });

  it('remembers an Idempotency-Key whose segment has not reached the engine before a restart', async () => {
    const dataDir = await temporaryDirectory();
    open.push(() => removeDirectory(dataDir));
    const { ingest } = await start(() => Promise.reject(new Error('down')), { dataDir });
    const first = await ingest.accept(request(event('x'), 'k'));
    await ingest.close();
    open.pop();
    const stored: string[] = [];
    const { ingest: again } = await start(
      async (insert) => {
        assert.deepEqual(insert.earlier, []);
        stored.push(...markers(insert));
        return 'stored';
      },
      { dataDir },
    );
    assert.deepEqual(await again.accept(request(event('x'), 'k')), first);
    await assert.rejects(again.accept(request(event('z'), 'k')), { code: 'key_reused' });
    assert.equal(await again.flush(patience(5_000)), true);
    assert.deepEqual(stored, ['x']);
  });

  it('stores an event of the service once by its name, also after a crash before the note', async () => {
    const dataDir = await temporaryDirectory();
    open.push(() => removeDirectory(dataDir));
    let rows = 0;
    const sink: SegmentSink = async (insert) => {
      rows += insert.rows;
      return 'stored';
    };
    const text = JSON.stringify({
      time: '2026-05-01T10:00:00Z',
      message: { action: 1001, org: organization.id },
    });
    const record = (into: Ingest, name: string) => into.recordOnce(name, [text], () => organization);
    const { ingest } = await start(sink, { dataDir });
    for (let time = 0; time < 2; time++) await record(ingest, 'journal-1');
    assert.equal(await ingest.flush(patience(5_000)), true);
    await ingest.close();
    open.pop();
    const { ingest: again } = await start(sink, { dataDir });
    for (const name of ['journal-1', 'journal-2']) await record(again, name);
    assert.equal(await again.flush(patience(5_000)), true);
    assert.equal(rows, 2);
  });

  it('reports lost numbers of segments in the log', async () => {
    const dataDir = await temporaryDirectory();
    open.push(() => removeDirectory(dataDir));
    const down: SegmentSink = () => Promise.reject(new Error('down'));
    const { ingest } = await start(down, { dataDir });
    await ingest.accept(request(event('x')));
    await ingest.close();
    open.pop();
    const found: string[][] = [];
    for (const spoil of [
      () => writeFile(join(dataDir, 'wal-order'), 'AUDTORDR'),
      () => unlink(join(dataDir, 'wal-order')),
    ]) {
      await spoil();
      const damage = new DamageRegister();
      const { ingest: again } = await start(down, { dataDir, damage });
      await again.close();
      open.pop();
      found.push(damage.list().map(({ id, detail }) => `${id}: ${detail.slice(0, 24)}`));
    }
    assert.deepEqual(found, [
      ['wal-order: wal-order is damaged; se'],
      ['wal-order: wal-order is missing; se'],
    ]);
  });

  it('has at most the named number of segments in flight, however many wait', async () => {
    let inFlight = 0;
    let most = 0;
    // On a slow disk segments come so slowly that an INSERT without the gate would end before the next.
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { ingest } = await start(
      async () => {
        inFlight += 1;
        most = Math.max(most, inFlight);
        await held;
        await sleep(5);
        inFlight -= 1;
        return 'stored';
      },
      { segmentBytes: 2000 },
    );
    for (let i = 0; i < 30; i++)
      await ingest.accept(request([...Array(10).keys()].map((n) => event(`${i}.${n}`)).join('\n')));
    await until(() => inFlight === limits.segmentsInFlightMax);
    release();
    assert.equal(await ingest.flush(patience(10_000)), true);
    assert.equal(most, limits.segmentsInFlightMax);
  });

  describe('a large body', () => {
    const events = 20_000;
    const bad = new Set([0, 7, 9_999, 10_000, events - 1]);
    const lines = Array.from({ length: events }, (_, n) =>
      bad.has(n) ? '{"time":0,"message":{"action":"é"}}' : event(`e${n}-${'ö'.repeat(30)}`),
    );
    const bodies: Record<string, Buffer> = {
      ndjson: Buffer.from(lines.join('\n\n')),
      json: Buffer.from(`\ufeff [${lines.join(' ,\n')}] `),
      'compressed json': brotliCompressSync(Buffer.from(`[${lines.join(',')},${'" "'.repeat(1)}]`), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 10 },
      }),
    };

    for (const [name, body] of Object.entries(bodies)) {
      it(`of ${name} is divided between workers, and its answer is that of one`, async () => {
        const isCompressed = name.startsWith('compressed');
        assert.ok(isCompressed || body.length > limits.splitBytesMin);
        const stored: string[] = [];
        const { ingest } = await start(
          async (insert) => {
            stored.push(...markers(insert));
            return 'stored';
          },
          { workers: 2, bodyBytesMax: 64 * 1024 * 1024, walBytesMax: 1e9, segmentBytes: 1e9 },
        );
        const form = name === 'ndjson' ? ('ndjson' as const) : ('json' as const);
        const encoding = isCompressed ? ('br' as const) : ('identity' as const);
        const whole = (): IngestRequest => ({
          ...request('', 'key'),
          body: new Uint8Array(body),
          form,
          encoding,
        });
        const answer = await ingest.accept(whole());
        const more = isCompressed ? [events] : [];
        assert.deepEqual(
          answer.errors.map(({ index }) => index),
          [...bad, ...more],
        );
        assert.deepEqual([answer.accepted, answer.rejected], [events - bad.size, bad.size + more.length]);
        assert.deepEqual(await ingest.accept(whole()), answer);
        assert.equal(await ingest.flush(patience(20_000)), true);
        const expected = [...Array(events).keys()].filter((n) => !bad.has(n));
        assert.deepEqual(
          stored.map((marker) => Number(/^e(\d+)-/.exec(marker)?.[1])),
          expected,
        );
      });
    }

    it('that ends badly stores nothing', async () => {
      const { ingest } = await start(async () => 'stored', {
        workers: 2,
        bodyBytesMax: 64 * 1024 * 1024,
        walBytesMax: 1e9,
      });
      const broken = { ...request(''), form: 'json' as const };
      const text = `[${lines.join(',')},`;
      const rejected = { code: 'malformed' };
      await assert.rejects(ingest.accept({ ...broken, body: new Uint8Array(Buffer.from(text)) }), rejected);
      await assert.rejects(
        ingest.accept({ ...broken, encoding: 'gzip', body: new Uint8Array(bodies['json'] as Buffer) }),
        rejected,
      );
      await assert.rejects(
        ingest.accept({
          ...broken,
          form: 'ndjson',
          body: new Uint8Array(Buffer.from(`${'nothing'.padEnd(20)}\n`.repeat(limits.rejectedEventsMax))),
        }),
        ({ code, options }: Problem) =>
          code === 'nothing_accepted' &&
          options.members?.['rejected'] === limits.rejectedEventsMax &&
          (options.members['errors'] as unknown[]).length === limits.rejectedErrorsReportedMax,
      );
      assert.equal((await ingest.accept(request(event('after')))).accepted, 1);
    });
  });
});
