import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import { rounds } from '../support/rounds.ts';
import type { AuditEvent } from '../support/http.ts';
import { createTenant, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { patience } from '../support/patience.ts';

/**
 * Random events and random parameters against a model of a few lines: an array, `filter`, `sort` and `slice`.
 * Set FC_SEED to repeat a run.
 */
const seed = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const batches = 6;
const eventsPerBatch = 70;
const queries = rounds(80, 400);

let server: SharedServer;
let tenant: Tenant;
let stranger: Tenant;

// --- What events are made of. Small pools, so that filters hit; spellings that differ in case only; odd characters.

const emails = [
  'ana@acme.example',
  'Ana@Acme.Example',
  'ANA@ACME.EXAMPLE',
  'ana@acme.example ',
  'ΣΊΣΥΦΟΣ@ΕΛΛΆΔΑ.gr',
  'σίσυφος@ελλάδα.gr',
  'İlker@firma.tr',
  'i\u0307lker@firma.tr',
  'STRASSE@ß.example',
  'straße@ß.example',
  'ЖУК@почта.рф',
  'жук@ПОЧТА.РФ',
  '日本@例え.jp',
  '𐐀𐐁@deseret.example',
  '𐐨𐐩@deseret.example',
  "o'hara+tag%20&=#@x.example",
  'back\\slash"quote@x.example',
  'tab\there@x.example',
  '🎉@x.example',
  'é@x.example',
  'e\u0301@x.example',
];
const fileNames = [
  'Report.pdf',
  'REPORT.PDF',
  'report.pdf',
  'Report .pdf',
  'Übersicht 2024.xlsx',
  'übersicht 2024.XLSX',
  'Отчёт.docx',
  'ОТЧЁТ.DOCX',
  '報告書.pdf',
  'تقرير.pdf',
  "it's 100% \\ sure.txt",
  'a/b?c=d&e+f.txt',
  'new\nline.txt',
  '🎉.png',
  'ǅ.txt',
  'ǆ.txt',
];
const ids = ['u-1', 'U-1', 'u-2', '00000000-0000-4000-8000-000000000001', 'Ω', 'ω', '7'];
const hashes = ['ABCDEF0123', 'abcdef0123', 'e3b0c442', 'E3B0C442', 'h:1'];
const flows = [
  '11111111-1111-4111-8111-11111111111a',
  '22222222-2222-4222-8222-22222222222B',
  '33333333-3333-7333-b333-33333333333c',
];
/** What is sent, and the number that it is among all addresses; some are none. */
const addresses: Readonly<Record<string, bigint | undefined>> = {
  '10.1.2.3': 0xffff_0a01_0203n,
  '::ffff:10.1.2.3': 0xffff_0a01_0203n,
  '10.1.2.4': 0xffff_0a01_0204n,
  '192.0.2.255': 0xffff_c000_02ffn,
  '127.0.0.1': 0xffff_7f00_0001n,
  '2001:db8::1': (0x2001_0db8n << 96n) + 1n,
  '2001:0DB8:0:0::1': (0x2001_0db8n << 96n) + 1n,
  'AWS Internal': undefined,
  '10.1.2': undefined,
};
/** Of filters: first and last. */
const ranges: Readonly<Record<string, readonly [bigint, bigint]>> = {
  '10.1.2.3': [0xffff_0a01_0203n, 0xffff_0a01_0203n],
  '10.1.2.0/30': [0xffff_0a01_0200n, 0xffff_0a01_0203n],
  '10.0.0.0/8': [0xffff_0a00_0000n, 0xffff_0aff_ffffn],
  '0.0.0.0/0': [0xffff_0000_0000n, 0xffff_ffff_ffffn],
  '2001:db8::/32': [0x2001_0db8n << 96n, (0x2001_0db9n << 96n) - 1n],
  '::/0': [1n, (1n << 128n) - 1n],
  '203.0.113.9': [0xffff_cb00_7109n, 0xffff_cb00_7109n],
};
const activities = [2001, 1001, -7, 9_007_199_254_740_991];
const words = [
  'ana',
  'ANA@acme',
  'Übersicht',
  'ОТЧЁТ',
  '報告書',
  'quote"quote',
  'back\\slash',
  '🎉',
  '100%',
  '10.1.2.3',
  'none-of-them',
];

const anchors = [
  0,
  Date.UTC(2000, 1, 29, 23, 59, 59) * 1000 + 999_999,
  Date.UTC(2024, 0, 1) * 1000,
  Date.UTC(2024, 4, 6, 7, 8, 9) * 1000 + 123_456,
  Date.UTC(2099, 11, 31) * 1000 + 500_000,
  7_258_118_400_000_000,
];

const time = fc
  .tuple(fc.constantFrom(...anchors), fc.constantFrom(-1_000_000, -2, -1, 0, 0, 0, 1, 2, 1000, 999_999))
  .map(([anchor, step]) => Math.min(Math.max(anchor + step, 0), 7_258_118_400_000_000));

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

interface Facts {
  readonly time: number;
  readonly email: string | undefined;
  readonly bareActor: boolean;
  readonly id: string | undefined;
  readonly file: string | undefined;
  readonly target: string | undefined;
  readonly bareTarget: boolean;
  readonly senderHash: string | undefined;
  readonly extraHash: string | undefined;
  readonly flow: string | undefined;
  readonly ip: string | undefined;
  readonly activity: number;
  readonly level: string;
  readonly code: number;
}

const facts: fc.Arbitrary<Facts> = fc.record({
  time,
  email: optional(fc.constantFrom(...emails)),
  bareActor: fc.boolean(),
  id: optional(fc.constantFrom(...ids)),
  file: optional(fc.constantFrom(...fileNames)),
  target: optional(fc.constantFrom(...fileNames, ...emails.slice(0, 2))),
  bareTarget: fc.boolean(),
  senderHash: optional(fc.constantFrom(...hashes)),
  extraHash: optional(fc.constantFrom(...hashes)),
  flow: optional(fc.constantFrom(...flows)),
  ip: optional(fc.constantFrom(...Object.keys(addresses))),
  activity: fc.constantFrom(...activities),
  level: fc.constantFrom('INFO', 'WARN', 'ERROR', 'info'),
  code: fc.constantFrom(200, 399, 400, 500),
});

/** Integers that could be seconds or milliseconds are refused, so such a time is sent as text. */
function sentTime(micros: number): number | string {
  if (micros === 0 || micros >= 1e14) return micros;
  const text = new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1);
  return `${text}${String(micros % 1000).padStart(3, '0')}Z`;
}

/** The source event that says these facts; a bare actor has no place for an id. */
function sourceOf(event: Facts, number: number): object {
  const { email, id, file, target, senderHash: hash, extraHash: fileHash } = event;
  return {
    level: event.level,
    message: {
      timestamp: sentTime(event.time),
      action: event.activity,
      result: { code: event.code },
      remote: { ip: event.ip },
      actor: event.bareActor ? email : { email, id, name: 'ana@acme.example' },
      target: event.bareTarget ? target : { name: target, id: 'Report.pdf' },
      sender: { file, hash, email: 'ana@acme.example' },
      flow_id: event.flow,
      extra: { number, fileHash, fileName: 'Report.pdf' },
    },
  };
}

// --- What a query is made of.

/** RFC 3339 text of an instant in a random offset, with a random tail beyond the microsecond. */
const timeText = fc
  .tuple(time, fc.integer({ min: -14 * 60, max: 14 * 60 }), fc.constantFrom('', '0', '9', '999', '500'))
  .map(([micros, offsetMinutes, tail]) => {
    const local = new Date(Math.floor(micros / 1_000_000) * 1000 + offsetMinutes * 60_000);
    const sign = offsetMinutes < 0 ? '-' : '+';
    const size = Math.abs(offsetMinutes);
    const two = (n: number) => String(n).padStart(2, '0');
    const zone = size === 0 ? 'Z' : `${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`;
    return {
      micros,
      text: `${local.toISOString().slice(0, 19)}.${String(micros % 1_000_000).padStart(6, '0')}${tail}${zone}`,
    };
  });

const recase = (values: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...values), fc.constantFrom('as is', 'upper', 'lower'))
    .map(([value, how]) =>
      how === 'upper' ? value.toUpperCase() : how === 'lower' ? value.toLowerCase() : value,
    );

/** Given in `yes` of `yes + no` queries. */
const sometimes = <T>(value: fc.Arbitrary<T>, yes: number, no: number) =>
  fc.oneof({ weight: yes, arbitrary: value }, { weight: no, arbitrary: fc.constant(undefined) });
const severities = ['Informational', 'Medium', 'High'];
const statuses = ['Success', 'Failure'];
const valuesOf = {
  actor: recase(emails),
  userId: recase(ids),
  fileName: recase(fileNames),
  fileHash: recase(hashes),
  flowId: recase(flows),
  ip: fc.constantFrom(...Object.keys(ranges)),
  activity: fc.constantFrom(...activities).map(String),
  severity: recase(severities),
  status: recase(statuses),
} as const;
type FilterName = keyof typeof valuesOf;
const list = fc
  .tuple(
    fc.constantFrom(...(Object.keys(valuesOf) as FilterName[])),
    fc.constantFrom('in' as const, 'not' as const),
  )
  .chain(([name, way]) =>
    fc.array(valuesOf[name], { minLength: 1, maxLength: 4 }).map((values) => ({ name, way, values })),
  );
const query = fc.record({
  start: sometimes(timeText, 1, 1),
  end: sometimes(timeText, 1, 1),
  actor: sometimes(recase([...emails, 'nobody@x.example', 'u-1']), 7, 10),
  fileName: sometimes(recase([...fileNames, 'none.txt', 'ana@acme.example']), 5, 10),
  userId: sometimes(recase(ids), 3, 10),
  fileHash: sometimes(recase(hashes), 3, 10),
  flowId: sometimes(recase(flows), 4, 10),
  ip: sometimes(fc.constantFrom(...Object.keys(ranges)), 2, 10),
  activity: sometimes(fc.constantFrom(...activities, 5).map(String), 2, 10),
  severity: sometimes(recase(severities), 2, 10),
  status: sometimes(recase(statuses), 2, 10),
  lists: fc.uniqueArray(list, { maxLength: 3, selector: ({ name, way }) => `${name}.${way}` }),
  q: sometimes(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 2 }), 2, 10),
  limit: fc.constantFrom(undefined, '1', '3', '7', '50', '1000', '5000', 'x'),
  offset: fc.constantFrom(undefined, '0', '1', '5', '60', '419', '10000', '-1'),
});
type Drawn = typeof query extends fc.Arbitrary<infer T> ? T : never;

// --- The model.

const same = (a: string | undefined, b: string) => a !== undefined && a.toLowerCase() === b.toLowerCase();

interface Stored {
  readonly number: number;
  readonly facts: Facts;
}

/** Whether an event has a value, for each filter. */
const has: Readonly<Record<FilterName, (event: Facts, value: string) => boolean>> = {
  actor: (event, value) => same(event.email, value),
  userId: (event, value) => !event.bareActor && same(event.id, value),
  fileName: (event, value) => same(event.file, value) || same(event.target, value),
  fileHash: (event, value) => same(event.senderHash, value) || same(event.extraHash, value),
  flowId: (event, value) => same(event.flow, value),
  ip: (event, value) => {
    const number = addresses[event.ip ?? ''];
    const [first = 0n, last = 0n] = ranges[value] ?? [];
    return number !== undefined && first <= number && number <= last;
  },
  activity: (event, value) => event.activity === Number(value),
  severity: (event, value) => same({ WARN: 'Medium', ERROR: 'High' }[event.level] ?? 'Informational', value),
  status: (event, value) => same(event.code < 400 ? 'Success' : 'Failure', value),
};

/** What events differ in, as it is shown, in lower case. */
const shown = new Map<number, string>();

function modelPage(stored: readonly Stored[], drawn: Drawn): { total: number; numbers: number[] } {
  const matches = stored.filter(({ facts: event, number }) => {
    if (drawn.start && event.time < drawn.start.micros) return false;
    if (drawn.end && event.time > drawn.end.micros) return false;
    for (const name of Object.keys(has) as FilterName[]) {
      const { [name]: value } = drawn;
      if (value !== undefined && !has[name](event, value)) return false;
    }
    for (const { name, way, values } of drawn.lists)
      if (values.some((value) => has[name](event, value)) !== (way === 'in')) return false;
    const text = shown.get(number) ?? '';
    return (drawn.q ?? []).every((word) => text.includes(JSON.stringify(word.toLowerCase()).slice(1, -1)));
  });
  matches.sort((a, b) => b.facts.time - a.facts.time || b.number - a.number);
  const limit = Math.min(Number(drawn.limit ?? 50) || 50, 1000);
  const offset = Math.max(Number(drawn.offset ?? 0), 0);
  return {
    total: matches.length,
    numbers: matches.slice(offset, offset + limit).map((match) => match.number),
  };
}

function queryOf({ start, end, lists, q, ...drawn }: Drawn): Record<string, string> {
  const given: [string, string | undefined][] = [
    ['startTime', start?.text],
    ['endTime', end?.text],
    ['q', q?.join(' ')],
    ...Object.entries(drawn),
    ...lists.map(({ name, way, values }): [string, string] => [
      `${name}.${way}`,
      values.map((value) => value.replaceAll('%', '%25').replaceAll(',', '%2C')).join(','),
    ]),
  ];
  return Object.fromEntries(given.filter((one): one is [string, string] => one[1] !== undefined));
}

/** Times of the events that the organization began with, and the negative numbers they have here. */
const begun = new Map<number, number>();
const numberOf = (event: AuditEvent) => Number(event.extra_map?.['number'] ?? begun.get(event.time));
const silent: Omit<Facts, 'time' | 'activity' | 'level' | 'code' | 'ip'> = {
  email: undefined,
  bareActor: false,
  id: undefined,
  file: undefined,
  target: undefined,
  bareTarget: false,
  senderHash: undefined,
  extraHash: undefined,
  flow: undefined,
};

/** Without what is the same in all events. */
function varying(event: AuditEvent): string {
  const { metadata: _, actor, ...others } = event;
  const { app_name: __, ...user } = actor;
  const text = Object.entries({ ...others, ...user }).filter(
    ([name]) => !/^(category|class|type)_/.test(name),
  );
  return JSON.stringify(Object.fromEntries(text)).toLowerCase();
}

// --- The run.

const stored: Stored[] = [];

before(async () => {
  server = await sharedServer();
  [tenant, stranger] = await Promise.all([createTenant(server, 'model'), createTenant(server, 'stranger')]);
  for (const [n, event] of (await tenant.own()).entries()) {
    begun.set(event.time, -1 - n);
    const { time: at, activity_id: activity, severity, status, src_endpoint: from } = event;
    const level = { Medium: 'WARN', High: 'ERROR' }[severity] ?? 'INFO';
    const code = status === 'Success' ? 200 : 500;
    const told = { time: at, activity, level, code, ip: (from as { ip?: string } | undefined)?.ip };
    stored.push({ number: -1 - n, facts: { ...silent, ...told } });
  }
  const drawn = fc.sample(facts, { numRuns: batches * eventsPerBatch, seed });
  for (let batch = 0; batch < batches; batch++) {
    const part = drawn.slice(batch * eventsPerBatch, (batch + 1) * eventsPerBatch);
    const numbered = part.map((event, n) => ({ number: batch * eventsPerBatch + n, facts: event }));
    await tenant.record(numbered.map((event) => sourceOf(event.facts, event.number)));
    // Another organization says the same things; none of it may ever be seen.
    await stranger.record(numbered.map((event) => sourceOf(event.facts, 1_000_000 + event.number)));
    stored.push(...numbered);
  }
  await Promise.all([tenant.settled(drawn.length), stranger.settled(drawn.length)]);
  for (const event of (await tenant.page({ limit: '1000' })).data) shown.set(numberOf(event), varying(event));
});

test(`random filters and pages agree with the model (FC_SEED=${seed})`, {
  timeout: patience(90_000),
}, async () => {
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(query, async (drawn) => {
      const expected = modelPage(stored, drawn);
      const page = await tenant.page(queryOf(drawn));
      assert.equal(page.meta.total, expected.total);
      assert.deepEqual(page.data.map(numberOf), expected.numbers);
      if (expected.total > 0) hits++;
    }),
    { seed, numRuns: queries },
  );
  assert.ok(hits > queries / 10, `only ${hits} of ${queries} queries found anything`);
});

test('every single spelling finds what the model finds', { timeout: patience(90_000) }, async () => {
  const nothing: Drawn = {
    start: undefined,
    end: undefined,
    actor: undefined,
    fileName: undefined,
    userId: undefined,
    fileHash: undefined,
    flowId: undefined,
    ip: undefined,
    activity: undefined,
    severity: undefined,
    status: undefined,
    lists: [],
    q: undefined,
    limit: '1000',
    offset: undefined,
  };
  const single: Drawn[] = [
    ...emails.map((actor) => ({ ...nothing, actor })),
    ...fileNames.map((fileName) => ({ ...nothing, fileName })),
    ...ids.map((userId) => ({ ...nothing, userId })),
    ...hashes.map((fileHash) => ({ ...nothing, fileHash })),
    ...flows.map((flowId) => ({ ...nothing, flowId })),
    ...Object.keys(ranges).map((ip) => ({ ...nothing, ip })),
    ...words.map((word) => ({ ...nothing, q: [word] })),
  ];
  for (const drawn of single) {
    const expected = modelPage(stored, drawn);
    const page = await tenant.page(queryOf(drawn));
    assert.deepEqual(page.data.map(numberOf), expected.numbers, JSON.stringify(queryOf(drawn)));
  }
});
