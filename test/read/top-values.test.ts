import { strict as assert } from 'node:assert';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import type { Answer } from '../../src/contract/document.ts';
import type { SessionCaller } from '../../src/http/endpoint.ts';
import { topFilesHandler, topValuesHandler } from '../../src/http/routes/events.ts';
import { createTopFilesReader } from '../../src/read/top-files.ts';
import { createTopValuesReader } from '../../src/read/top-values.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import {
  answerOf,
  createCaller,
  createRecorder,
  newestFirst,
  type Recorded,
  type Recorder,
} from './support.ts';

const base = 1_700_000_000_000_000;

describe('most frequent values', () => {
  let engine: SharedEngine;
  let record: Recorder;
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage);
  });

  const read = (caller: SessionCaller, query: Readonly<Record<string, string>> = {}) =>
    answerOf<Answer<'TopValues'>>(topValuesHandler(createTopValuesReader(engine.storage)), caller, query);
  const readFiles = (caller: SessionCaller, query: Readonly<Record<string, string>> = {}) =>
    answerOf<Answer<'TopFiles'>>(topFilesHandler(createTopFilesReader(engine.storage)), caller, query);

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
        { email_addr: 'ann@x', name: 'Ann "É" New', count: 3, ...seen(1, 3) },
        { email_addr: 'bob@x', count: 1, ...seen(4, 4) },
      ],
      addresses: [],
      severities: [
        { severity: 'Informational', count: 3 },
        { severity: 'High', count: 1 },
        { severity: 'Medium', count: 1 },
      ],
      statuses: [{ status: 'Success', count: 5 }],
      without: { actor: 1, ip: 5 },
    });
  });

  it('have the title of the registry, with any titles of producers', async () => {
    const caller = createCaller();
    const event = (code: number, title: string) => ({
      message: { timestamp: base, action: { code, title } },
    });
    await record(caller.organization.id, [
      event(1002, 'Tea made'),
      event(1002, 'Tea made'),
      event(1098, 'Tea drunk'),
    ]);
    assert.deepEqual(
      (await read(caller)).data.activities.map(({ activity_name: name, count }) => [name, count]),
      [
        ['Login failed', 2],
        ['Tea drunk', 1],
      ],
    );
  });

  it('are of addresses as people write them, and of files as they were sent, with whole sizes alone', async () => {
    const caller = createCaller();
    const event = (at: number, ip: string, names: object, fileSize?: unknown) => ({
      message: {
        timestamp: base + at,
        action: 2003,
        remote: { ip },
        ...names,
        extra: { pair: { name: 'fileSize', value: '9' }, fileSize },
      },
    });
    await record(caller.organization.id, [
      event(1, '10.0.0.7', { target: 'Q2 Report.pdf' }, 5),
      event(2, '::ffff:10.0.0.7', { sender: { file: 'q2 report.PDF' }, target: 'Plan "B".txt' }, '7'),
      event(3, '2001:DB8::1', { target: 'plan "b".txt' }, 1.5),
      event(4, 'AWS Internal', { target: 'Plan "B".txt' }, -3),
      event(5, '2001:db8::1', { target: 'nothing' }),
      event(6, '::', {}, 1_000_000),
    ]);
    const { data } = await read(caller);
    assert.deepEqual(data.addresses, [
      { ip: '10.0.0.7', count: 2, ...seen(1, 2) },
      { ip: '2001:db8::1', count: 2, ...seen(3, 5) },
    ]);
    assert.deepEqual(data.without, { actor: 6, ip: 2 });
    assert.deepEqual((await readFiles(caller)).data, [
      { name: 'q2 report.PDF', count: 2, bytes: 12, ...seen(1, 2) },
      { name: 'Plan "B".txt', count: 3, bytes: 7, ...seen(2, 4) },
      { name: 'nothing', count: 1, bytes: 0, ...seen(5, 5) },
    ]);
    assert.deepEqual((await readFiles(caller, { limit: '1', ip: '2001:db8::/32' })).data, [
      { name: 'nothing', count: 1, bytes: 0, ...seen(5, 5) },
    ]);
  });

  it('are of events without a value, or of the others, where these are asked for', async () => {
    const caller = createCaller();
    const event = (code: number, rest: object) => ({ message: { timestamp: base, action: code, ...rest } });
    await record(caller.organization.id, [
      event(7, {}),
      event(8, { actor: { email: 'a@x', id: 'A' }, target: 'f', remote: { ip: '10.0.0.1' } }),
      event(9, {
        actor: { id: 'A' },
        sender: { hash: 'AB' },
        flow_id: 'f72f96e8-7f63-48e7-bfff-fffa2ae593e7',
      }),
    ]);
    const codes = async (query: Readonly<Record<string, string>>) =>
      (await read(caller, query)).data.activities.map(({ activity_id: id }) => id);
    const without = {
      actor: [7, 9],
      userId: [7],
      fileName: [7, 9],
      fileHash: [7, 8],
      flowId: [7, 8],
      ip: [7, 9],
    };
    for (const [name, expected] of Object.entries(without)) {
      assert.deepEqual(await codes({ [`${name}.is`]: 'none' }), expected, name);
      const others = [7, 8, 9].filter((code) => !expected.includes(code));
      assert.deepEqual(await codes({ [`${name}.is`]: 'any' }), others, name);
    }
    assert.deepEqual(await codes({ 'actor.is': 'none', actor: 'a@x' }), []);
    assert.deepEqual(await codes({ 'actor.is': 'any', 'actor.not': 'a@x' }), []);
    assert.deepEqual(await codes({ 'actor.is': 'none', 'userId.is': 'any', 'activity.is': 'none' }), [9]);
  });

  it('add sizes up beyond what a number can hold to the largest that it can', async () => {
    const caller = createCaller();
    const event = (size: string) =>
      `{"message":{"timestamp":${base},"action":1,"target":"f","extra":{"fileSize":${size}}}}`;
    await record(caller.organization.id, [
      event('9007199254740991'),
      event('9007199254740991'),
      event('9007199254740992'),
    ]);
    const [file] = (await readFiles(caller)).data;
    assert.deepEqual([file?.count, file?.bytes], [3, Number.MAX_SAFE_INTEGER]);
  });

  it('are of actors and files with names of any length', async () => {
    const caller = createCaller();
    const email = `${'é'.repeat(60_000)}@x`;
    await record(caller.organization.id, [
      { message: { timestamp: base, action: 1, actor: { email, name: 'Long' }, target: email } },
    ]);
    assert.deepEqual((await read(caller)).data.actors, [
      { email_addr: email, name: 'Long', count: 1, ...seen(0, 0) },
    ]);
    assert.equal((await readFiles(caller)).data[0]?.name, email);
  });

  it('are as many as requested, ten by default, a hundred at most', async () => {
    const caller = createCaller();
    const events = Array.from({ length: 150 }, (_, n) => ({
      message: {
        timestamp: base,
        action: n,
        actor: `u${n}@x`,
        remote: { ip: `10.0.0.${n}` },
        target: `f${n}`,
      },
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
      const files = await readFiles(caller, { limit });
      const lists = [data.activities, data.actors, data.addresses, files.data].map(({ length }) => length);
      assert.deepEqual([...lists, meta.limit, files.meta.limit], Array(6).fill(rows));
    }
  });

  it('are what counting gives, under the same filters', async () => {
    const one = fc.record({
      action: fc.integer({ min: 1, max: 5 }),
      actor: fc.constantFrom(undefined, 'a@x', 'b@x', 'c@x'),
      level: fc.constantFrom('INFO', 'WARN', 'ERROR', 'odd'),
      file: fc.constantFrom('f', 'g'),
      target: fc.constantFrom('F', 'h', ''),
      size: fc.integer({ min: 0, max: 3 }),
      ip: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fe80::1', ''),
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
            drawn.map(({ action, actor, level, file, target, size, ip, at, code }) => ({
              level,
              message: {
                timestamp: base + at * 1_000_000,
                action,
                actor,
                sender: { file },
                target,
                remote: { ip },
                extra: { fileSize: size },
                result: { code },
              },
            })),
          );
          const matching = rows.filter(
            (row) => row.names.includes('f') && row.timeMicros >= base + 2_000_000,
          );
          const query = {
            limit: String(limit),
            fileName: 'F',
            startTime: new Date((base + 2_000_000) / 1000).toISOString(),
          };
          const { data } = await read(caller, query);
          assert.deepEqual(
            data.activities.map(({ activity_id: id, count }) => [String(id), count]),
            counted(matching, (row) => String(row.activityId)).slice(0, limit),
          );
          assert.deepEqual(
            data.actors.map(({ email_addr: email, count }) => [email, count]),
            counted(matching, (row) => row.actorEmail).slice(0, limit),
          );
          assert.deepEqual(
            data.addresses.map(({ ip, count }) => [ip, count]),
            counted(matching, ipOf).slice(0, limit),
          );
          assert.deepEqual(
            [data.without.actor, data.without.ip],
            [({ actorEmail }: Recorded) => actorEmail, ipOf].map(
              (of) => matching.filter((row) => of(row) === '').length,
            ),
          );
          assert.deepEqual((await readFiles(caller, query)).data, filesOf(matching).slice(0, limit));
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

const seen = (first: number, last: number) => ({
  first_seen: formatMicros(base + first),
  last_seen: formatMicros(base + last),
});

interface Sent {
  readonly message: {
    readonly remote: { readonly ip: string };
    readonly sender: { readonly file: string };
    readonly target: string;
    readonly extra: { readonly fileSize: number };
  };
}
const sentIn = ({ source }: Recorded): Sent['message'] => (JSON.parse(source) as Sent).message;
const ipOf = (row: Recorded): string => sentIn(row).remote.ip;

/** The expected files of random events. */
function filesOf(rows: readonly Recorded[]) {
  const keys = [...new Set(rows.flatMap(({ names }) => names))].sort();
  const files = keys.map((key) => {
    const of = rows.filter(({ names }) => names.includes(key)).sort(newestFirst);
    const times = of.map(({ timeMicros }) => timeMicros - base);
    const [newest] = of.map(sentIn);
    return {
      name: [newest?.sender.file, newest?.target].find((one) => one?.toLowerCase() === key),
      count: of.length,
      bytes: of.reduce((sum, row) => sum + sentIn(row).extra.fileSize, 0),
      ...seen(Math.min(...times), Math.max(...times)),
    };
  });
  // Equal ones stay in the order of their keys.
  return files.sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

/** Values with their numbers, most frequent first, then by value; without the empty one. */
function counted(rows: readonly Recorded[], valueOf: (row: Recorded) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
