import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import type { SessionCaller } from '../../src/http/endpoint.ts';
import { receiptsHandler } from '../../src/http/routes/receipts.ts';
import { createReceiptsReader } from '../../src/read/receipts.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import {
  answerOf,
  createCaller,
  createRecorder,
  newestFirst,
  type Recorded,
  type Recorder,
} from './support.ts';

interface ReceiptsAnswer {
  readonly data: readonly Record<string, unknown>[];
  readonly meta: { readonly total: number; readonly limit: number; readonly offset: number };
}

const base = 1_700_000_000_000_000;

describe('receipts', () => {
  let engine: SharedEngine;
  let record: Recorder;
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage);
  });

  const read = (caller: SessionCaller, query: Readonly<Record<string, string | number>> = {}) =>
    answerOf<ReceiptsAnswer>(
      receiptsHandler(createReceiptsReader(engine.storage, () => undefined)),
      caller,
      query,
    );
  const receiptsOf = async (events: readonly (object | string)[], caller = createCaller()) => {
    await record(caller.organization.id, events);
    return (await read(caller)).data;
  };
  const own = 'ann@EXAMPLE.com';
  const event = (action: number, at: number, rest: object = {}) => ({
    message: { action, timestamp: base + at, actor: own, ...rest },
  });

  it('pair the start and the completion of a flow', async () => {
    const flow = randomUUID();
    const sender = { file: 'Report Q3.pdf' };
    assert.deepEqual(
      await receiptsOf([
        event(2000, 0, { flow_id: flow, sender }),
        event(2001, 2_500_001, {
          flow_id: flow.toUpperCase(),
          sender,
          target: { name: 'Vault' },
          extra: { fileSize: 9007199254740991, destination: 'Drive/Finance' },
        }),
      ]),
      [
        {
          flow_id: flow,
          kind: 'upload',
          file_name: 'Report Q3.pdf',
          file_size: 9007199254740991,
          destination: 'Drive/Finance',
          status: 'completed',
          started_at: '2023-11-14T22:13:20.000000Z',
          completed_at: '2023-11-14T22:13:22.500001Z',
        },
      ],
    );
  });

  it('pair one transfer whose events name the file differently, and part the files of one flow', async () => {
    const one = { flow_id: randomUUID() };
    const many = { flow_id: randomUUID() };
    const answer = await receiptsOf([
      event(2000, 90, { ...one, target: 'Vault' }),
      event(2001, 91, { ...one, sender: { file: 'a.txt' }, target: { name: 'Vault' } }),
      event(2000, 80, { ...many, sender: { file: 'B.txt' } }),
      event(2000, 79, { ...many, sender: { file: 'c.txt' } }),
      event(2001, 95, { ...many, sender: { file: 'b.TXT' } }),
      event(2002, 78, { ...many, sender: { file: 'b.txt' } }),
    ]);
    assert.deepEqual(
      answer.map((receipt) => [
        receipt['kind'],
        receipt['file_name'],
        receipt['destination'],
        receipt['status'],
      ]),
      [
        ['upload', 'a.txt', 'Vault', 'completed'],
        ['upload', 'b.TXT', undefined, 'completed'],
        ['upload', 'c.txt', undefined, 'started'],
        ['download', 'b.txt', undefined, 'started'],
      ],
    );
  });

  it('name the file and the place from what there is', async () => {
    const answer = await receiptsOf([
      event(2001, 9, { target: 'f.bin', extra: { fileName: 'other', fileSize: '12' } }),
      event(2001, 8, { target: { id: 'x' }, extra: { fileName: 'g.bin', fileSize: 0 } }),
      event(2021, 7, { target: { name: 'tv' }, sender: { file: 'film.mp4' }, extra: { fileSize: 1.5 } }),
      event(2021, 6, { target: 'tv' }),
      // A number beyond machine words must not hide the rest.
      JSON.stringify(event(2001, 5, { sender: { file: 'h' }, extra: { fileSize: 7, big: 'BIG' } })).replace(
        '"BIG"',
        '1'.repeat(30),
      ),
    ]);
    assert.deepEqual(
      answer.map((receipt) => [receipt['file_name'], receipt['file_size'], receipt['destination']]),
      [
        ['f.bin', undefined, undefined],
        ['g.bin', 0, undefined],
        ['film.mp4', 1.5, 'tv'],
        ['tv', undefined, 'tv'],
        ['h', 7, undefined],
      ],
    );
  });

  it('are forbidden where the policy is off', async () => {
    const caller = createCaller({ organization: { receipts: 'off' } });
    await assert.rejects(read(caller), { name: 'Problem', code: 'forbidden' });
  });

  it('have defaults, bounds and totals like the audit endpoint', async () => {
    const caller = createCaller();
    const many = Array.from({ length: 1100 }, (_, n) => {
      const flow = { flow_id: randomUUID(), sender: { file: `${n}.bin` }, extra: { fileSize: n } };
      return [event(2000, n * 10, flow), event(2001, n * 10 + 5, flow)];
    }).flat();
    await record(caller.organization.id, many);
    for (const [query, rows, meta] of [
      [{}, 50, { total: 1100, limit: 50, offset: 0 }],
      [{ limit: '0', offset: '-1' }, 50, { total: 1100, limit: 50, offset: 0 }],
      [{ limit: '99999', offset: 3 }, 1000, { total: 1100, limit: 1000, offset: 3 }],
      [{ limit: 1000, offset: 1000 }, 100, { total: 1100, limit: 1000, offset: 1000 }],
      [{ offset: 5000 }, 0, { total: 1100, limit: 50, offset: 5000 }],
    ] as const) {
      const answer = await read(caller, query);
      assert.deepEqual(answer.meta, meta);
      assert.equal(answer.data.length, rows);
      if (rows > 0) assert.equal(answer.data[0]?.['file_size'], 1099 - meta.offset);
    }
  });

  it('are what a plain reading of the rules gives, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anEvent, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        async (drawn, limit) => {
          const caller = createCaller();
          const { id } = caller.user;
          const owner = { id, email: caller.user.emailLower };
          const rows = await record(
            caller.organization.id,
            drawn.map((draw) => toEvent(draw, id)),
          );
          const expected = expectedReceipts(rows, owner);
          const found: unknown[] = [];
          for (let offset = 0; ; offset += limit) {
            const page = await read(caller, { limit, offset });
            assert.equal(page.meta.total, expected.length);
            found.push(...page.data.map(({ file_name: _name, destination: _place, ...rest }) => rest));
            if (page.data.length < limit) break;
          }
          assert.deepEqual(found, expected);
        },
      ),
      { numRuns: rounds(6, 20) },
    );
  });
});

const flows = Array.from({ length: 3 }, () => randomUUID());
const codes = [2000, 2001, 2002, 2003, 2005, 2006, 2020, 2021, 2022];

interface Drawn {
  readonly action: number;
  readonly at: number;
  readonly who: 'email' | 'id' | 'both' | 'other' | 'nobody';
  readonly flow: string | undefined;
  readonly file: string | undefined;
  readonly code: number | undefined;
}

const anEvent: fc.Arbitrary<Drawn> = fc.record({
  action: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...codes) },
    { weight: 1, arbitrary: fc.constantFrom(2004, 2010, 1001) },
  ),
  at: fc.integer({ min: 0, max: 12 }),
  who: fc.constantFrom('email', 'email', 'id', 'both', 'other', 'nobody'),
  flow: fc.constantFrom(undefined, ...flows),
  file: fc.constantFrom(undefined, 'a', 'A', 'b'),
  code: fc.constantFrom(undefined, 200, 399, 400, 500),
});

function toEvent({ action, at, who, flow, file, code }: Drawn, id: string): object {
  const actor = {
    email: { email: 'ann@example.com' },
    id: { id: id.toUpperCase(), email: 'someone@example.com' },
    both: { id, email: 'ANN@example.com' },
    other: { id: 'another', email: 'bob@example.com' },
    nobody: undefined,
  }[who];
  const timestamp = at === 12 ? 0 : base + at;
  return { message: { action, timestamp, actor, flow_id: flow, sender: { file }, result: { code } } };
}

const kinds = [
  { kind: 'upload', of: [2000, 2001, 2005] },
  { kind: 'download', of: [2002, 2003, 2006] },
  { kind: 'stream', of: [2020, 2021, 2022] },
];

/** The expected receipts, by the rules in words. */
function expectedReceipts(rows: readonly Recorded[], owner: { id: string; email: string }): unknown[] {
  const groups = new Map<string, Recorded[]>();
  const mine = rows.filter((row) => row.actorEmail === owner.email || row.actorId === owner.id);
  for (const row of mine) {
    const kind = kinds.find(({ of }) => of.includes(row.activityId))?.kind;
    if (kind === undefined) continue;
    const key = row.flowId === '' ? String(row.seq) : `${row.flowId} ${kind}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()]
    .flatMap((group) => byName(group))
    .map((group) => receiptOf(group))
    .sort((a, b) => newestFirst(a.at, b.at))
    .map(({ receipt }) => receipt);
}

const isStart = ({ activityId }: Recorded): boolean => kinds.some(({ of }) => of[0] === activityId);

function byName(group: readonly Recorded[]): (readonly Recorded[])[] {
  const begun = group.filter(isStart).length;
  const names = new Map<string, Recorded[]>();
  for (const row of group) names.set(row.names[0] ?? '', [...(names.get(row.names[0] ?? '') ?? []), row]);
  const named = [...names.keys()].filter((name) => name !== '').length;
  return named > 1 && (begun > 1 || group.length - begun > 1) ? [...names.values()] : [group];
}

function receiptOf(group: readonly Recorded[]): { at: Recorded; receipt: object } {
  const sorted = [...group].sort(newestFirst);
  const start = sorted.findLast(isStart);
  const lastStart = sorted.find(isStart);
  const end = sorted.find((row) => !isStart(row));
  const failed = [lastStart, end].some(
    (row) => row !== undefined && (row.resultCode >= 400 || [2005, 2006, 2022].includes(row.activityId)),
  );
  const at = start ?? end;
  assert.ok(at);
  return {
    at,
    receipt: {
      ...(at.flowId === '' ? {} : { flow_id: at.flowId }),
      kind: kinds.find(({ of }) => of.includes(at.activityId))?.kind,
      status: failed ? 'failed' : end ? 'completed' : 'started',
      ...(start ? { started_at: formatMicros(start.timeMicros) } : {}),
      ...(end ? { completed_at: formatMicros(end.timeMicros) } : {}),
    },
  };
}
