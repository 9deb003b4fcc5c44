import { strict as assert } from 'node:assert';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros, parseRfc3339Micros } from '../../src/base/time/timestamp.ts';
import type { Answer } from '../../src/contract/document.ts';
import type { SessionCaller } from '../../src/http/endpoint.ts';
import { histogramHandler } from '../../src/http/routes/events.ts';
import { bucketsOver, createHistogramReader } from '../../src/read/histogram.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { answerOf, createCaller, createRecorder, type Recorded, type Recorder } from './support.ts';

type HistogramAnswer = Answer<'Histogram'>;

const second = 1_000_000;
const base = 1_700_000_000 * second;
const latest = 7_258_118_400 * second;

describe('counts over time', () => {
  let engine: SharedEngine;
  let record: Recorder;
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage);
  });

  const read = (caller: SessionCaller, query: Readonly<Record<string, string>> = {}) =>
    answerOf<HistogramAnswer>(histogramHandler(createHistogramReader(engine.storage)), caller, query);
  // As text: small integers are refused, because they may be seconds.
  const at = (micros: number, rest: object = {}) => ({
    message: { action: 1, timestamp: formatMicros(micros), ...rest },
  });

  it('are nothing where there is nothing', async () => {
    const caller = createCaller();
    const nothing = { data: [], meta: { bucket_seconds: 1, total: 0 } };
    assert.deepEqual(await read(caller), nothing);
    const start = '2024-01-01T00:00:00.000000Z';
    assert.deepEqual(await read(caller, { startTime: start }), {
      data: [],
      meta: { ...nothing.meta, start },
    });
    const backwards = await read(caller, { startTime: start, endTime: '2023-01-01T00:00:00Z' });
    assert.deepEqual([backwards.data, backwards.meta.total], [[], 0]);
  });

  it('have empty buckets where a range was asked for', async () => {
    const { data, meta } = await read(createCaller(), {
      startTime: '2024-02-28T00:00:00Z',
      endTime: '2024-03-01T23:59:59.999999Z',
    });
    assert.equal(meta.bucket_seconds, 3600);
    assert.equal(data.length, 72);
    assert.equal(data[24]?.start, '2024-02-29T00:00:00.000000Z');
    assert.ok(data.every(({ success, failure }) => success === 0 && failure === 0));
  });

  it('hold everything that may be, from 1970 to 2200, and nothing from beyond', async () => {
    const caller = createCaller();
    await record(caller.organization.id, [at(0), at(latest), at(base)]);
    for (const query of [{}, { startTime: '0001-01-01T00:00:00Z', endTime: '9999-01-01T00:00:00Z' }]) {
      const { data, meta } = await read(caller, query);
      assert.equal(meta.total, 3);
      assert.ok(data.length >= 30 && data.length <= 120, `${data.length} buckets`);
      assert.deepEqual([meta.start, meta.end], [formatMicros(0), formatMicros(latest)]);
    }
    assert.equal((await read(caller, { startTime: '2200-01-01T00:00:01Z' })).meta.total, 0);
    assert.equal((await read(caller, { endTime: '1969-12-31T23:59:59Z' })).meta.total, 0);
  });

  it('are compared with the previous range, in buckets as far from its beginning', async () => {
    const caller = createCaller();
    const hour = 3_600 * second;
    const start = Math.floor(base / hour) * hour + 7;
    const offsets = [-25, -24, -23.5, -1, 0, 23, 24].map((hours) => start + hours * hour);
    await record(
      caller.organization.id,
      offsets.map((time, n) => at(time, { result: { code: n === 1 ? 500 : 200 } })),
    );
    const query = {
      startTime: formatMicros(start),
      endTime: formatMicros(start + 24 * hour - 1),
      compare: 'previous',
    };
    const { data, meta, previous } = await read(caller, query);
    assert.deepEqual([meta.total, previous?.total, previous?.data.length], [2, 3, data.length]);
    assert.deepEqual([previous?.start, previous?.end], [start - 24 * hour, start - 1].map(formatMicros));
    for (const [index, bucket] of (previous?.data ?? []).entries())
      assert.equal(
        parseRfc3339Micros(bucket.start),
        (parseRfc3339Micros(data[index]?.start ?? '') ?? 0) - 24 * hour,
      );
    assert.deepEqual([previous?.data[0]?.failure, previous?.data[2]?.success], [1, 1]);
    for (const none of [
      { ...query, compare: 'x' },
      { compare: 'previous', endTime: query.endTime, startTime: '1970-01-02T00:00:00Z' },
    ])
      assert.equal((await read(caller, none)).previous, undefined);
    const reader = createHistogramReader(engine.storage);
    const kept = { fromMicros: start, toMicros: start + hour, cutOffMicros: start - hour + 1 };
    const cut = await reader(caller.organization.id, kept, true, AbortSignal.timeout(20_000));
    assert.deepEqual([cut.meta.total, cut.previous], [1, undefined]);
  });

  it('are those of matching events, and add up to them', async () => {
    const span = fc.constantFrom(0, second, 90 * second, 86_400 * second, 200 * 86_400 * second, latest);
    const offset = fc.double({ min: 0, max: 1, noNaN: true });
    await fc.assert(
      fc.asyncProperty(
        span,
        fc.array(fc.record({ offset, code: fc.constantFrom(200, 399, 400), ann: fc.boolean() }), {
          minLength: 1,
          maxLength: 30,
        }),
        fc.option(offset, { nil: undefined }),
        fc.option(offset, { nil: undefined }),
        async (width, drawn, from, to) => {
          const caller = createCaller();
          const place = (offset: number) =>
            Math.min(latest, (width === latest ? 0 : base) + Math.floor(offset * width));
          const rows = await record(
            caller.organization.id,
            drawn.map(({ offset, code, ann }) =>
              at(place(offset), { actor: ann ? 'ann@x' : 'bob@x', result: { code } }),
            ),
          );
          const range = {
            ...(from === undefined ? {} : { startTime: formatMicros(place(from)) }),
            ...(to === undefined ? {} : { endTime: formatMicros(place(to)) }),
          };
          const matching = rows.filter(
            ({ timeMicros, actorEmail }) =>
              actorEmail === 'ann@x' &&
              timeMicros >= place(from ?? 0) &&
              timeMicros <= (to === undefined ? latest : place(to)),
          );
          check(await read(caller, { ...range, actor: 'Ann@X' }), matching);
        },
      ),
      { numRuns: 20 },
    );
  });
});

function check({ data, meta }: HistogramAnswer, matching: readonly Recorded[]): void {
  assert.equal(meta.total, matching.length);
  const width = meta.bucket_seconds * second;
  const starts = data.map(({ start }) => parseRfc3339Micros(start) ?? Number.NaN);
  for (const [index, start] of starts.entries()) {
    assert.equal(start, (starts[0] ?? 0) + index * width);
    const inside = matching.filter(({ timeMicros }) => timeMicros >= start && timeMicros < start + width);
    const success = inside.filter(({ status }) => status === 'Success').length;
    assert.deepEqual(data[index], { start: data[index]?.start, success, failure: inside.length - success });
  }
  assert.equal(
    data.reduce((sum, { success, failure }) => sum + success + failure, 0),
    meta.total,
  );
}

describe('buckets', () => {
  it('cover any range, at most 120 of them, and at least 30 unless they are seconds', () => {
    const time = fc.oneof(fc.integer({ min: 0, max: latest }), fc.integer({ min: base, max: base + 1e10 }));
    fc.assert(
      fc.property(time, time, (a, b) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        const { firstMicros, count, widthSeconds } = bucketsOver(start, end);
        const width = widthSeconds * second;
        assert.ok(firstMicros <= start && start < firstMicros + width);
        assert.ok(firstMicros + (count - 1) * width <= end && end < firstMicros + count * width);
        assert.ok(count <= 120 && (count >= 30 || widthSeconds === 1), `${count} of ${widthSeconds} s`);
      }),
      { numRuns: 2000 },
    );
  });

  it('begin on Mondays when they are weeks, at midnight when they are days', () => {
    const year = bucketsOver(Date.UTC(2024, 0, 5, 5) * 1000, Date.UTC(2024, 11, 31) * 1000);
    assert.equal(year.widthSeconds, 7 * 86_400);
    assert.equal(formatMicros(year.firstMicros), '2024-01-01T00:00:00.000000Z');
    const quarter = bucketsOver(Date.UTC(2024, 0, 5, 5) * 1000, Date.UTC(2024, 3, 1) * 1000);
    assert.equal(quarter.widthSeconds, 86_400);
    assert.equal(formatMicros(quarter.firstMicros), '2024-01-05T00:00:00.000000Z');
  });
});
