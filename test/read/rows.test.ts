import { strict as assert } from 'node:assert';
import { before, describe, it } from 'node:test';
import { toRfc3339 } from '../../web/api/instant.ts';
import { rowsHandler, sourceEventsHandler } from '../../src/http/routes/events.ts';
import { createRowsReader, type Rows } from '../../src/read/rows.ts';
import { createSourceEventsReader } from '../../src/read/source-events.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { answerOf, createCaller, createRecorder, newestFirst, type Recorded } from './support.ts';

const start = 1_790_000_000_000_000;
const placeOf = ({ timeMicros, seq }: Recorded) => `${toRfc3339(timeMicros)}~${seq}`;

describe('rows of a list', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });

  /** Events at few instants by three actors, and requests for them. */
  async function recorded(count = 300) {
    const record = createRecorder(engine.storage);
    const caller = createCaller();
    const { id } = caller.organization;
    const event = (micros: number, n: number) => ({
      message: { action: 1, timestamp: start + micros, actor: `a${n % 3}@x.test` },
      msg: n % 2 === 0 ? 'even' : 'odd',
    });
    const events = Array.from({ length: count }, (_, n) => event(n < 110 ? 0 : Math.floor(n / 7), n));
    const rows = (await record(id, events)).toSorted(newestFirst);
    const watermark = { seq: 0n };
    const handler = rowsHandler(createRowsReader(engine.storage, () => watermark.seq));
    const ask = (query: Readonly<Record<string, string | number>>) => answerOf<Rows>(handler, caller, query);
    return { record, caller, rows, event, watermark, ask };
  }

  const seqsOf = ({ data }: Rows) => data.map(({ seq }) => seq);
  const seqs = (rows: readonly Recorded[]) => rows.map(({ seq }) => String(seq));

  it('go on from a place to both sides, also within one microsecond', async () => {
    const { rows, ask } = await recorded();
    const filters = [
      [{}, () => true],
      [{ actor: 'A1@x.test' }, (row) => row.actorEmail === 'a1@x.test'],
      [{ 'actor.in': 'a1@x.test,a2@x.test' }, (row) => row.actorEmail !== 'a0@x.test'],
      [{ q: 'odd a1' }, (row) => row.actorEmail === 'a1@x.test' && /"odd"/.test(row.source)],
      [{ startTime: toRfc3339(start + 20) }, (row) => row.timeMicros >= start + 20],
      [{ endTime: toRfc3339(start + 20) }, (row) => row.timeMicros <= start + 20],
    ] as const satisfies readonly (readonly [object, (row: Recorded) => boolean])[];
    for (const [filter, keep] of filters) {
      const all = rows.filter(keep);
      for (const at of [0, 40, all.length - 1]) {
        const row = all[at];
        assert.ok(row !== undefined);
        const [from, older, newer] = await Promise.all(
          ['from', 'before', 'after'].map((name) => ask({ ...filter, [name]: placeOf(row), limit: 30 })),
        );
        const what = `${JSON.stringify(filter)} at ${at}`;
        assert.ok(from && older && newer);
        assert.deepEqual(seqsOf(from), seqs(all.slice(at, at + 30)), what);
        assert.deepEqual(seqsOf(older), seqs(all.slice(at + 1, at + 31)), what);
        assert.deepEqual(seqsOf(newer), seqs(all.slice(Math.max(0, at - 30), at)), what);
        const totals = [from, older, newer].map(({ meta }) => meta.total);
        assert.deepEqual(totals, [all.length - at, all.length - at - 1, at], what);
      }
    }
  });

  it('pass over an offset on both sides, but not before newer ones that have words', async () => {
    const { rows, ask } = await recorded();
    const after = placeOf(rows[60] as Recorded);
    const some = await ask({ after, offset: 7, limit: 20 });
    assert.deepEqual([seqsOf(some), some.meta.offset], [seqs(rows.slice(33, 53)), 7]);
    const odd = rows.slice(0, 60).filter(({ source }) => /"odd"/.test(source));
    const found = await ask({ after, q: 'odd', offset: 7, limit: 20 });
    assert.deepEqual([seqsOf(found), found.meta.offset], [seqs(odd.slice(-20)), 0]);
  });

  it('begin at a time without an order number with its newest event', async () => {
    const { rows, ask } = await recorded();
    const moment = toRfc3339(start);
    const first = rows.findIndex(({ timeMicros }) => timeMicros === start);
    assert.deepEqual(seqsOf(await ask({ from: moment, limit: 3 })), seqs(rows.slice(first, first + 3)));
    assert.equal((await ask({ after: moment })).meta.total, first);
  });

  it('are what a list shows, also where an event has numbers that no parser holds', async () => {
    const { record, caller, ask } = await recorded(0);
    const message =
      `{"timestamp":${start},"action":7,"actor":{"email":"Zoë@x.test","name":"Zoë"},"remote":{"ip":"10.0.0.1"},` +
      '"result":{"code":404},"extra":{"fileName":"a\u202eb.pdf","large":123456789012345678901234567890}}';
    await record(caller.organization.id, [
      `{"level":"ERROR","msg":"${'é'.repeat(400)}","message":${message}}`,
      {
        message: {
          timestamp: start - 1,
          action: 7,
          target: { name: 'T' },
          sender: { file: 'F' },
          extra: { fileName: 'e' },
        },
      },
      ...['0e999999', '1.7976931348623158e308', '9'.repeat(300)].map(
        (number) =>
          `{"msg":"extreme","message":{"timestamp":${start - 2},"action":7,"extra":{"n":${number},"fileName":null}}}`,
      ),
      ...[{}, { extra: { fileName: 'c' } }].map((more) => ({
        msg: ',"metadata":{],"extra_map":',
        message: { timestamp: start - 3, action: 7, log: { provider: 'p', version: 'v' }, ...more },
      })),
    ]);
    const { data, meta } = await ask({ limit: 7 });
    assert.deepEqual(data, [
      {
        seq: data[0]?.seq,
        time: start,
        activity_name: 'Activity 7',
        severity: 'High',
        status: 'Failure',
        message: 'é'.repeat(300),
        actor_name: 'Zoë',
        actor_email: 'Zoë@x.test',
        ip: '10.0.0.1',
        file_name: 'a\u202eb.pdf',
      },
      {
        seq: data[1]?.seq,
        time: start - 1,
        activity_name: 'Activity 7',
        severity: 'Informational',
        status: 'Success',
        message: 'Activity 7',
        target_name: 'T',
        file_name: 'F',
      },
      ...[2, 3, 4].map((at) => ({
        seq: data[at]?.seq,
        time: start - 2,
        activity_name: 'Activity 7',
        severity: 'Informational',
        status: 'Success',
        message: 'extreme',
      })),
      ...['c', undefined].map((file, at) => ({
        seq: data[at + 5]?.seq,
        time: start - 3,
        activity_name: 'Activity 7',
        severity: 'Informational',
        status: 'Success',
        message: ',"metadata":{],"extra_map":',
        ...(file !== undefined && { file_name: file }),
      })),
    ]);
    assert.deepEqual([meta.total, meta.limit, meta.offset], [7, 7, 0]);
  });

  it('since an order number count what came later, whenever it happened, and nothing twice', async () => {
    const { record, caller, event, watermark, rows, ask } = await recorded();
    // The last hundred are above the watermark.
    watermark.seq = rows.toSorted((a, b) => Number(a.seq - b.seq))[200]?.seq ?? 0n;
    const begun = await ask({ actor: 'a1@x.test', limit: 1 });
    const { settled, unsettled, total } = begun.meta;
    assert.deepEqual([unsettled, total], [33, 100]);
    const later = [event(-50, 1), event(5, 1), event(5, 2), event(1e9, 4)];
    await record(caller.organization.id, later);
    const now = await ask({ actor: 'a1@x.test', since: settled, limit: 1 });
    assert.equal(now.meta.total - unsettled, 3);
  });

  it('ignore an invalid position, and name it', async () => {
    const { rows, ask } = await recorded(3);
    for (const place of [
      'x',
      '1',
      `${toRfc3339(start)}~`,
      `${toRfc3339(start)}~1~2`,
      `${toRfc3339(start)}~-1`,
    ])
      assert.deepEqual(seqsOf(await ask({ from: place, before: place, since: 'x' })), seqs(rows), place);
  });

  it('name an event for one look at it with its source', async () => {
    const { rows, caller } = await recorded();
    const reader = createSourceEventsReader(engine.storage, { head: '{', tail: '}}' }, () => 0);
    // The 105th of one microsecond.
    const row = rows.filter(({ timeMicros }) => timeMicros === start)[104];
    assert.ok(row !== undefined);
    const { data } = await answerOf<{ data: { seq: string; source: unknown }[] }>(
      sourceEventsHandler(reader),
      caller,
      { from: placeOf(row), limit: 1 },
    );
    assert.deepEqual(
      data.map(({ seq, source }) => [seq, source]),
      [[String(row.seq), JSON.parse(row.source)]],
    );
  });
});
