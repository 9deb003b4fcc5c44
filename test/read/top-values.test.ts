import { strict as assert } from 'node:assert';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { SessionCaller } from '../../src/http/endpoint.ts';
import { topValuesHandler } from '../../src/http/routes/events.ts';
import { createTopValuesReader } from '../../src/read/top-values.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { answerOf, createCaller, createRecorder, type Recorded, type Recorder } from './support.ts';

interface TopAnswer {
  readonly data: {
    readonly activities: readonly {
      readonly activity_id: number;
      readonly activity_name: string;
      readonly count: number;
    }[];
    readonly actors: readonly {
      readonly email_addr: string;
      readonly name?: string;
      readonly count: number;
    }[];
    readonly severities: readonly { readonly severity: string; readonly count: number }[];
    readonly statuses: readonly { readonly status: string; readonly count: number }[];
  };
  readonly meta: { readonly limit: number };
}

const base = 1_700_000_000_000_000;

describe('most frequent values', () => {
  let engine: SharedEngine;
  let record: Recorder;
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage);
  });

  const read = (caller: SessionCaller, query: Readonly<Record<string, string>> = {}) =>
    answerOf<TopAnswer>(topValuesHandler(createTopValuesReader(engine.storage)), caller, query);

  it('carry the most frequent title of a code and the newest name of an actor', async () => {
    const caller = createCaller();
    const event = (at: number, title: string, actor: unknown, level?: string) => ({
      level,
      message: { timestamp: base + at, action: { code: 7, title }, actor },
    });
    await record(caller.organization.id, [
      event(1, 'rare', { email: 'ann@x', name: 'Ann Old' }),
      event(3, 'often', { email: 'ANN@x', name: 'Ann "É" New' }, 'ERROR'),
      event(2, 'often', { email: 'ann@x', name: 'Ann Middle' }),
      event(4, 'often', 'bob@x', 'WARN'),
      event(5, 'often', undefined),
    ]);
    await record(createCaller().organization.id, [event(9, 'other', 'ann@x')]);
    assert.deepEqual((await read(caller)).data, {
      activities: [{ activity_id: 7, activity_name: 'often', count: 5 }],
      actors: [
        { email_addr: 'ann@x', name: 'Ann "É" New', count: 3 },
        { email_addr: 'bob@x', count: 1 },
      ],
      severities: [
        { severity: 'Informational', count: 3 },
        { severity: 'High', count: 1 },
        { severity: 'Medium', count: 1 },
      ],
      statuses: [{ status: 'Success', count: 5 }],
    });
  });

  it('are of actors with addresses of any length', async () => {
    const caller = createCaller();
    const email = `${'é'.repeat(60_000)}@x`;
    await record(caller.organization.id, [
      { message: { timestamp: base, action: 1, actor: { email, name: 'Long' } } },
    ]);
    assert.deepEqual((await read(caller)).data.actors, [{ email_addr: email, name: 'Long', count: 1 }]);
  });

  it('are as many as asked, ten unless told, a hundred at most', async () => {
    const caller = createCaller();
    const events = Array.from({ length: 150 }, (_, n) => ({
      message: { timestamp: base, action: n, actor: `u${n}@x` },
    }));
    await record(caller.organization.id, events);
    for (const [limit, rows] of [
      ['', 10],
      ['0', 10],
      ['1e1', 10],
      ['3', 3],
      ['100', 100],
      ['99999999', 100],
    ] as const) {
      const { data, meta } = await read(caller, { limit });
      assert.deepEqual([data.activities.length, data.actors.length, meta.limit], [rows, rows, rows]);
    }
  });

  it('are what counting gives, under the same filters', async () => {
    const one = fc.record({
      action: fc.integer({ min: 1, max: 5 }),
      actor: fc.constantFrom(undefined, 'a@x', 'b@x', 'c@x'),
      level: fc.constantFrom('INFO', 'WARN', 'ERROR', 'odd'),
      file: fc.constantFrom('f', 'g'),
      at: fc.integer({ min: 0, max: 9 }),
      code: fc.constantFrom(200, 403),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        async (drawn, limit) => {
          const caller = createCaller();
          const rows = await record(
            caller.organization.id,
            drawn.map(({ action, actor, level, file, at, code }) => ({
              level,
              message: {
                timestamp: base + at * 1_000_000,
                action,
                actor,
                sender: { file },
                result: { code },
              },
            })),
          );
          const matching = rows.filter(
            (row) => row.names.includes('f') && row.timeMicros >= base + 2_000_000,
          );
          const { data } = await read(caller, {
            limit: String(limit),
            fileName: 'F',
            startTime: new Date((base + 2_000_000) / 1000).toISOString(),
          });
          assert.deepEqual(
            data.activities.map(({ activity_id: id, count }) => [String(id), count]),
            counted(matching, (row) => String(row.activityId)).slice(0, limit),
          );
          assert.deepEqual(
            data.actors.map(({ email_addr: email, count }) => [email, count]),
            counted(matching, (row) => row.actorEmail).slice(0, limit),
          );
          assert.deepEqual(
            data.severities.map(({ severity, count }) => [severity, count]),
            counted(matching, (row) => row.severity),
          );
          assert.deepEqual(
            data.statuses.map(({ status, count }) => [status, count]),
            counted(matching, (row) => row.status),
          );
        },
      ),
      { numRuns: 25 },
    );
  });
});

/** Values and how often each is there, most frequent first, equals by value; none for the empty one. */
function counted(rows: readonly Recorded[], valueOf: (row: Recorded) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
