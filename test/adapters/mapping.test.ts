import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compile, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import * as fc from 'fast-check';
import { checkedDefinition, adapterNames } from '../../src/adapters/definition.ts';
import { compileNode } from '../../src/adapters/evaluate.ts';
import { Mapping } from '../../src/adapters/mapping.ts';
import { Mappings } from '../../src/adapters/mappings.ts';
import { LongInteger, parseJson } from '../../src/adapters/parse.ts';
import { splitBody } from '../../src/ingest/split-body.ts';
import { splitLarge } from '../../src/ingest/split-large.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { map, type Row, spelledJson, storableJson, storableName } from '../ocsf/arbitrary.ts';
import { blockOf } from '../recipes/page.ts';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { rounds } from '../support/rounds.ts';

/** A minimal mapping. */
const own = {
  name: 'own',
  time: 'at',
  action: 'what',
  outcome: { of: ['result'], success: ['ok'], absent: 'success' },
} as const;

const tail = eventTail({ vendorName: 'V', productName: 'P' });

interface MappedRecord {
  /** The record as sent, without white space between tokens. */
  readonly record: string;
  readonly source: string;
  readonly row: Row;
}

/** JSON without white space between tokens. */
function minified(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

/** Maps every record of a sample as the service does; all must be accepted. */
function mapSample(name: string, file: string): MappedRecord[] {
  const body = readFileSync(new URL(`../fixtures/adapters/${file}`, import.meta.url));
  const mapping = mappingOf(name);
  const records: MappedRecord[] = [];
  const form = file.endsWith('.ndjson') ? 'ndjson' : 'json';
  const fault = splitBody(
    body,
    form,
    (window, start, end) => {
      const event = mapping.map(window, start, end);
      if (typeof event === 'string') assert.fail(event);
      const record = Buffer.from(window.bytes.subarray(start, end)).toString('utf8');
      for (const text of event.events) {
        const row = map(text);
        if (typeof row === 'string') assert.fail(row);
        records.push({ record: minified(record), source: row.source, row });
      }
      return true;
    },
    mapping.records,
  );
  assert.equal(fault, undefined);
  return records;
}

/** The most important members. */
function summary({ row }: MappedRecord): string {
  const event = JSON.parse(`${eventHead}${row.ocsf}"logged_time":0${tail}`) as {
    actor: { user?: { name?: string; email_addr?: string } };
    src_endpoint?: { ip?: string };
    activity_id: number;
  };
  const time = new Date(row.timeMicros / 1000).toISOString();
  const user = event.actor.user ?? {};
  const parts = [time, event.activity_id, row.activityName, row.status, row.severity];
  return [
    ...parts,
    user.email_addr ?? user.name ?? '-',
    event.src_endpoint?.ip ?? '-',
    row.names[0] ?? '-',
  ].join(' | ');
}

const samples: readonly [string, string, readonly string[]][] = [
  [
    'cloudtrail',
    'cloudtrail.json',
    [
      '2023-07-19T21:35:03.000Z | 21958254630 | cloudtrail:DeleteTrail | Failure | Informational | Mary_Major | 192.0.2.0 | mytrail2',
      '2023-07-19T21:44:40.000Z | 1002 | signin:ConsoleLogin | Failure | Informational | mary@example.com | 2001:db8::1 | -',
      '2024-02-01T00:00:01.000Z | 2001 | s3:PutObject | Success | Informational | logging.s3.amazonaws.com | logging.s3.amazonaws.com | 2024/02/01/zürich é.log',
    ],
  ],
  [
    'github',
    'github.ndjson',
    [
      '2020-12-02T17:24:34.512Z | 1210 | team.add_member | Success | Informational | octocat | 203.0.113.7 | octo-corp/example-team',
      '2023-11-14T22:13:20.001Z | 1002 | user.failed_login | Failure | Informational | hubot@example.com | - | hubot',
    ],
  ],
  [
    'kubernetes',
    'kubernetes.json',
    [
      '2024-03-01T12:00:00.123Z | 12252261389 | get secrets | Failure | Informational | system:serviceaccount:prod:web | 10.1.2.3 | prod/db',
      '2024-03-01T12:00:01.000Z | 10298017921 | get other | Success | Informational | admin@example.com | - | /healthz',
    ],
  ],
  [
    'okta',
    'okta.json',
    [
      '2024-08-13T15:58:20.353Z | 1002 | User login to Okta | Failure | Medium | john.doe@example.com | 10.0.0.1 | password',
    ],
  ],
];

for (const [name, file, expected] of samples)
  test(`${name} records are found, mapped, and kept whole`, () => {
    const mapped = mapSample(name, file);
    assert.deepEqual(mapped.map(summary), expected);
    // Names of secrets are redacted here, too.
    const kept = (record: string): string =>
      record.replace(/"authorization":\{[^}]*\}/, '"authorization":"[redacted]"');
    for (const { record, source } of mapped)
      assert.ok(source.endsWith(`"${name}":${kept(record)}}}}`), source);
  });

test('lines of log libraries are mapped, and unused members are extra', () => {
  const mapped = mapSample('json', 'json.ndjson');
  const extraOf = ({ source }: MappedRecord): string => source.slice(source.indexOf('"extra":') + 8, -2);
  assert.deepEqual(
    mapped.map((one) => `${summary(one)} | ${one.row.level} | ${extraOf(one)}`),
    [
      '2018-07-09T21:17:54.631Z | 2813957823 | Log message | Success | Informational | - | - | - | INFO | {"pid":657,"hostname":"Davids-MBP-3.fritz.box"}',
      '2024-06-01T10:00:00.000Z | 3484101079 | document.save | Success | High | ann@example.com | - | - | ERROR | {"service":"user-service"}',
      '2024-06-01T10:00:00.123Z | 2813957823 | Log message | Success | Medium | - | - | - | WARN | {"caller":"main.go:42","url":"http://example.com","attempt":3,"backoff":1.50}',
      '2024-06-01T10:00:00.123Z | 1001 | Login succeeded | Success | High | Bob | - | - | ERROR | {"User":"bob","actor":{"id":"7","name":"Bob"},"SourceContext":"Auth"}',
    ],
  );
});

test('a text of an action has the same code everywhere, beyond all families', () => {
  const [first] = mapSample('kubernetes', 'kubernetes.json');
  assert.equal(first?.row.activityId, 12_252_261_389);
});

test('the error of an unmappable record has none of its content', () => {
  const refusal = (mapping: Mapping, record: unknown): string => {
    const made = mappedBy(mapping, record);
    return typeof made === 'string' ? made : assert.fail(made[0]);
  };
  const cloudtrail = mappingOf('cloudtrail');
  assert.equal(refusal(cloudtrail, '7'), 'the record must be a JSON object');
  assert.match(refusal(cloudtrail, '{"a":secret}'), /^the record is not acceptable JSON at byte 5: /);
  const strict = new Mapping(checkedDefinition({ ...own, msg: "starts_with(what, 'x')" }));
  assert.match(
    refusal(strict, { what: 5 }),
    /^the record cannot be mapped: \/msg: .*starts_with\(\).* \(in the mapping own\)$/,
  );
});

test('a mapping that cannot work is refused by the name of its member', () => {
  const definition = own;
  assert.throws(
    () => checkedDefinition({ ...definition, name: 'No' }),
    /^Error: \/name: must be lower-case letters/,
  );
  assert.throws(
    () => checkedDefinition({ name: 'own', time: 'at' }),
    /^Error: the mapping must have required property 'action'/,
  );
  assert.throws(() => checkedDefinition({ ...definition, other: 'x' }), /additional properties \(other\)/);
  assert.throws(
    () => checkedDefinition({ ...definition, event: { timestamp: 'at' } }),
    /^Error: \/event: must not have timestamp, action, extra, result\.code or/,
  );
  for (const result of ['result', { code: '`200`' }])
    assert.throws(
      () => checkedDefinition({ ...definition, event: { result } }),
      /^Error: \/event: must not /,
    );
  assert.doesNotThrow(() => checkedDefinition({ ...definition, event: { result: { title: 'a' } } }));
  assert.throws(() => new Mapping(checkedDefinition({ ...definition, time: 'at[' })), /^Error: \/time: /);
  assert.throws(
    () => checkedDefinition({ ...definition, each: 'all', used: [['a']] }),
    /^Error: the mapping must not have each and used together/,
  );
  assert.throws(
    () => new Mapping(checkedDefinition({ ...definition, event: { actor: { name: 'a || [b.nosuch(c)]' } } })),
    /^Error: \/event\/actor\/name: unknown function nosuch\(\)/,
  );
  assert.doesNotThrow(
    () => new Mapping(checkedDefinition({ ...definition, msg: '`{"type":"Function","name":"x"}`' })),
  );
  const small = new Mapping(checkedDefinition({ ...definition, event: { target: { name: 'to.name' } } }));
  assert.deepEqual(mappedBy(small, '{"at":"2024-01-01T00:00:00Z","what":7,"to":{"name":"x"},"n":1.0}'), [
    '{"message":{"timestamp":"2024-01-01T00:00:00Z","action":7,"target":{"name":"x"},"extra":{"own":{"at":"2024-01-01T00:00:00Z","what":7,"to":{"name":"x"},"n":1.0}}}}',
  ]);
});

test('the list of records is found behind texts that look like it, in small bodies and in large ones', async () => {
  const records = Array.from({ length: 50 }, (_, n) => JSON.stringify({ eventName: `"]} ${n}` }));
  const texts = ['{"note":"\\"]}, \\"Records\\":[1]","deep":{"Records":[2]},', '"Records" : [', ']}'];
  const document = Buffer.from(`${texts[0]}${texts[1]}${records.join(', ')}${texts[2]}`);
  const found: string[] = [];
  const collect = (bytes: Buffer, form: 'json' | 'elements') =>
    splitBody(
      bytes,
      form,
      (window, start, end) => {
        found.push(Buffer.from(window.bytes.subarray(start, end)).toString());
        return true;
      },
      'Records',
    );
  assert.equal(collect(document, 'json'), undefined);
  assert.deepEqual(found.splice(0), records);

  const split = await splitLarge(
    {
      kind: 'split',
      input: new Uint8Array(document),
      form: 'json',
      adapter: 'cloudtrail',
      encoding: 'identity',
      hashed: false,
      room: new SharedArrayBuffer(document.length),
      bodyBytesMax: document.length,
      pieceBytes: 200,
    },
    new Mappings(),
  );
  if ('code' in split.body) assert.fail(split.body.code);
  assert.ok(split.pieces.length > 5);
  for (const [start, end] of split.pieces)
    assert.equal(collect(Buffer.from(split.body.subarray(start, end)), split.form as 'elements'), undefined);
  assert.deepEqual(found, records);
});

test('functions of expressions accept usual forms, and leave unknown ones unchanged', () => {
  const value = (expression: string, given: unknown): unknown => {
    const mapping = new Mapping(checkedDefinition({ ...own, time: expression, action: 'n' }));
    const made = mappedBy(mapping, { given, n: 1 });
    if (typeof made === 'string') assert.fail(made);
    return (JSON.parse(made[0] ?? '') as { message: { timestamp?: unknown } }).message.timestamp;
  };
  const table: readonly (readonly [expression: string, given: unknown, made: unknown])[] = [
    ['micros(given)', 1_700_000_000, 1_700_000_000_000_000],
    ['micros(given)', 1_700_000_000.5, 1_700_000_000_500_000],
    ['micros(given)', '1700000000.25', 1_700_000_000_250_000],
    ['micros(given)', 1_700_000_000_123, 1_700_000_000_123_000],
    ['micros(given)', 1_700_000_000_123_456, 1_700_000_000_123_456],
    ['micros(given)', '1700000000123456789', 1_700_000_000_123_456],
    ['micros(given)', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
    ...[
      [10, 'TRACE'],
      [20, 'DEBUG'],
      [29, 'DEBUG'],
      [30, 'INFO'],
      [40, 'WARN'],
      [50, 'ERROR'],
      [60, 'ERROR'],
      [100, 'DEBUG'],
      ['200', 'INFO'],
      [250, 'INFO'],
      [300, 'WARN'],
      [400, 'ERROR'],
      [600, 'ERROR'],
      ['Notice', 'INFO'],
      ['warning', 'WARN'],
      ['crit', 'ERROR'],
      ['debug', 'DEBUG'],
      ['Odd', 'ODD'],
    ].map(([given, made]) => ['level(given)', given, made] as const),
    ['text(given[0], given[1], given[2])', [null, '', 'x'], 'x'],
    ['text(given[0], given[1])', [7, 'x'], '7'],
    ['text(given[0], given[1])', [true, {}], undefined],
    ["join('', [text(given), 'x'])", '', 'x'],
    ['email(given[0], given[1])', ['ann', 'ann@example.com'], 'ann@example.com'],
    ['email(given[0], given[1])', ['ann', 'an n@example.com'], undefined],
    ['uuid(given)', '5F0C3A52-7c1b-4ad0-8a2e-3f6f1f0f9a10', '5F0C3A52-7c1b-4ad0-8a2e-3f6f1f0f9a10'],
    ['uuid(given)', 'req-5f0c3a52', undefined],
    [
      'uuid(given)',
      'projects/p/traces/5f0c3a527c1b4ad08a2e3f6f1f0f9a10',
      '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a10',
    ],
    ['email(given)', 'arn:aws:sts::1:assumed-role/Admin/ann@example.com', 'ann@example.com'],
    ['email(given)', 'live.com#ann@example.com', 'ann@example.com'],
    ['micros(given)', '2024-01-01 10:00:00,123', '2024-01-01T10:00:00.123Z'],
    ['micros(given)', '2024-01-01 10:00:00', '2024-01-01 10:00:00'],
    ['micros(given[0], given[1])', ['', 1_700_000_000], 1_700_000_000_000_000],
    ['level(given)', '6', 'INFO'],
    ['level(given)', 3, 'ERROR'],
    ['place(given)', 'x'.repeat(256), undefined],
    ['port(given)', 65_536, undefined],
    ['port(given)', '443', 443],
    ['person(given)', { type: 'User' }, undefined],
    [
      'person(given)',
      { uid: 7, login: 'ann@example.com' },
      { id: '7', name: 'ann@example.com', email: 'ann@example.com' },
    ],
    [
      'thing(given)',
      { id: 'x', displayName: 'Ann', alternateId: 'ann@example.com' },
      { id: 'x', name: 'ann@example.com' },
    ],
    ["find(given, 'k', 'b', 'c').v", [{ k: 'a', v: 1 }, null, { k: 'c', v: 2 }], 2],
    ["find(given, 'k', 'b')", { k: 'b' }, undefined],
  ];
  for (const [expression, given, made] of table)
    assert.deepEqual(value(expression, given), made, `${expression} of ${JSON.stringify(given)}`);
});

test('a text of an action is looked up among the codes of the mapping, and is the title where there is none', () => {
  const definition = { ...own, codes: { login: 1003 } };
  const actionOf = (mapping: Mapping, record: object): unknown => {
    const made = mappedBy(mapping, { at: 0, ...record });
    if (typeof made === 'string') assert.fail(made);
    return (JSON.parse(made[0] ?? '') as { message: { action: unknown } }).message.action;
  };
  const titled = new Mapping(checkedDefinition({ ...definition, title: 'words' }));
  assert.deepEqual(actionOf(titled, { what: 'login', words: 'Signed in' }), {
    code: 1003,
    title: 'Signed in',
  });
  assert.deepEqual(actionOf(titled, { what: 'login' }), { code: 1003, title: 'login' });
  assert.deepEqual(actionOf(titled, { what: 7, words: 'Seven' }), { code: 7, title: 'Seven' });
  for (const what of ['logout', 'constructor', '__proto__']) {
    const other = actionOf(titled, { what }) as { code: number };
    assert.ok(other.code >= 1_000_000_000, what);
  }
});

test('an outcome is a listed value or a status; otherwise it is unknown, and so is the activity', () => {
  const definition = {
    ...own,
    codes: { login: { success: 1001, failure: 1002 } },
    outcome: { of: ['a', 'b'], success: ['ok', 'true'], failure: ['No'] },
  };
  const told = (record: object, more: object = {}): unknown[] => {
    const made = mappedBy(new Mapping(checkedDefinition({ ...definition, ...more })), {
      at: 0,
      what: 'login',
      ...record,
    });
    if (typeof made === 'string') assert.fail(made);
    const { message } = JSON.parse(made[0] ?? '') as {
      message: { action: { code: number } | number; result?: { code?: number; detail?: string } };
    };
    const { action, result } = message;
    const code = typeof action === 'number' ? action : action.code;
    return [code < 1e9 ? code : 'of the text', result?.code, result?.detail];
  };
  const unknown = (detail: string) => ['of the text', undefined, `outcome unknown: ${detail}`];
  const rows: readonly (readonly [record: object, expected: unknown[], more?: object])[] = [
    [{ a: 'OK' }, [1001, 200, undefined]],
    [{ a: true }, [1001, 200, undefined]],
    [{ a: 'no' }, [1002, 400, undefined]],
    [{ a: 204 }, [1001, 204, undefined]],
    [{ a: '503' }, [1002, 503, undefined]],
    [{ a: 'odd', b: 'ok' }, [1001, 200, undefined]],
    [{ a: 'odd', b: 'even' }, unknown('odd')],
    [{ a: false }, unknown('false')],
    [{ a: 600 }, unknown('600')],
    [{ a: 'x'.repeat(5000) }, unknown('x'.repeat(100))],
    [{ a: null, b: {} }, unknown('the record does not say')],
    [{}, [1001, undefined, undefined], { outcome: { ...definition.outcome, absent: 'success' } }],
    [{ what: 1002, a: 'ok' }, [1002, 400, undefined]],
    [{ what: 1102 }, [1102, 400, undefined]],
    [{ what: 1002, a: 503 }, [1002, 503, undefined]],
  ];
  for (const [record, expected, more] of rows)
    assert.deepEqual(told(record, more), expected, JSON.stringify(record));
});

test('a record with a list of what happened becomes an event of each, within bounds', () => {
  const mapping = new Mapping(checkedDefinition({ ...own, each: 'all.of', action: 'all.of[0].n' }));
  const listsOf = (record: object): unknown[] => {
    const made = mappedBy(mapping, { at: 0, note: [1, 2], ...record });
    if (typeof made === 'string') assert.fail(made);
    return made.map((text) => {
      const { message } = JSON.parse(text) as {
        message: { action: number; extra: { own: { note: number[]; all: { of: { n: number }[] } } } };
      };
      const { note, all } = message.extra.own;
      assert.deepEqual([note, message.action], [[1, 2], all.of[0]?.n]);
      return all.of;
    });
  };
  const of = Array.from({ length: 150 }, (_, n) => ({ n }));
  assert.deepEqual(listsOf({ all: { of: of.slice(0, 2), more: 1 } }), [[of[0]], [of[1]]]);
  const many = listsOf({ all: { of } });
  assert.deepEqual([many.length, many.at(-1)], [100, of.slice(99)]);
  assert.equal(listsOf({ pad: 'x'.repeat(40_000), all: { of: of.slice(0, 4) } }).length, 2);
});

test('a long text costs what its length does, wherever it ends', () => {
  const text = 'a'.repeat(50_000);
  const mapping = new Mapping(checkedDefinition({ ...own, msg: 'email(who)' }));
  const before = process.cpuUsage();
  // In quadratic time each text takes 4 s.
  mappedBy(mapping, { at: 0, what: `${text}.`, who: `${text}/` });
  const { user } = process.cpuUsage(before);
  assert.ok(user < 2_000_000, `${user} µs`);
});

test('codes of short action texts are cached', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const mapping = new Mapping(checkedDefinition(own));
  const long = 'x'.repeat(100_000);
  const heapOf = (from: number, to: number): number => {
    for (let n = from; n < to; n++) mappedBy(mapping, { at: 0, what: `${n} ${long}` });
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapOf(0, 10);
  assert.ok(heapOf(10, 310) - before < 10_000_000, 'each of 300 is kept');
});

test('expressions have the same result as in the library', () => {
  const value = storableJson;
  const names = ['a', 'b', '"c d"'];
  const leaf = fc.constantFrom(...names, '@', '`1`', "'x'", '`null`', '`[]`', '`{}`', '`false`');
  const { expression } = fc.letrec<{ expression: string }>((tie) => {
    const part = tie('expression');
    const two = fc.tuple(part, part);
    return {
      expression: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        leaf,
        two.map(([one, other]) => `(${one}) || (${other})`),
        two.map(([one, other]) => `(${one}) && (${other})`),
        two.map(([one, other]) => `(${one}) | (${other})`),
        two.map(([one, other]) => `(${one}) == (${other})`),
        two.map(([one, other]) => `{ a: ${one}, b: ${other} }`),
        two.map(([one, other]) => `[${one}, ${other}]`),
        two.map(([one, other]) => `text(${one}, ${other})`),
        two.map(([one, other]) => `not_null(${one}, ${other})`),
        part.map((one) => `!(${one})`),
        fc.tuple(fc.constantFrom(...names), part).map(([name, one]) => `${name}.{ a: ${one} }`),
        fc.constantFrom(...names).map((name) => `${name}.a`),
        fc.constantFrom(...names).map((name) => `${name}[-1]`),
        fc.tuple(fc.constantFrom(...names), part).map(([name, one]) => `${name}[?${one}].b`),
        part.map((one) => `type(${one})`),
      ),
    };
  });
  const record = fc.dictionary(
    fc.constantFrom('a', 'b', 'c d'),
    fc.oneof(value, fc.dictionary(fc.constantFrom('a', 'b'), value)),
  );
  fc.assert(
    fc.property(expression, record, (text, given) => {
      const node = compile(text);
      assert.deepEqual(
        compileNode(node)(given as JSONValue),
        TreeInterpreter.search(node, given as JSONValue),
        text,
      );
    }),
    { numRuns: rounds(500, 2000) },
  );
});

test('any record is kept byte by byte', () => {
  const cloudtrail = mappingOf('cloudtrail');
  fc.assert(
    fc.property(spelledJson(fc.dictionary(storableName, storableJson, { maxKeys: 6 })), ({ text }) => {
      const event = mappedBy(cloudtrail, text);
      if (typeof event === 'string') assert.fail(event);
      assert.ok(event[0]?.endsWith(`"extra":{"cloudtrail":${text}}}}`), event[0]);
      JSON.parse(event[0] ?? '');
    }),
  );
});

test('escaped names are read correctly after any other names (nodejs/node#63785)', () => {
  const json = mappingOf('json');
  // The parser of Node 24 confuses the second name with the first.
  for (const [first, before, name] of [
    ['ts', String.raw`"\\u0061"`, String.raw`"\u0061ction"`],
    ['timestamp', String.raw`"act\\u0"`, String.raw`"act\u0069on"`],
  ] as const) {
    mappedBy(json, `{"${first}":[],${before}:"a.b"}`);
    const event = mappedBy(json, `{"${first}":1717236000,${name}:"a.b"}`);
    if (typeof event === 'string') assert.fail(event);
    assert.match(event[0] ?? '', /"title":"a\.b"/);
  }
  const spelled = spelledJson(fc.dictionary(storableName, storableJson, { maxKeys: 6 }));
  const rounded = (value: unknown): string =>
    JSON.stringify(value, (_, one: unknown) => (one instanceof LongInteger ? Number(one) : one));
  fc.assert(
    fc.property(spelled, ({ text, value }) => {
      assert.equal(rounded(parseJson(`[${text},"\\n"]`)), rounded([value, '\n']));
    }),
  );
});

test('an id keeps its digits where it is an integer that no double holds', () => {
  const messageOf = (name: string, json: string) => {
    const made = mappedBy(mappingOf(name), json);
    if (typeof made === 'string') assert.fail(made);
    return (JSON.parse(made[0] ?? '') as { message: { timestamp: number; actor: unknown; target: unknown } })
      .message;
  };
  const line = '"ts":1717236000123456789,"target":{"id":-9007199254740993}';
  const { timestamp, actor, target } = messageOf('json', `{${line},"user":9007199254740993}`);
  assert.equal(timestamp, 1_717_236_000_123_456);
  assert.deepEqual([actor, target], [{ id: '9007199254740993' }, { id: '-9007199254740993' }]);
  const safe = messageOf('json', `{${line},"user":[],"user_id":9007199254740991}`);
  assert.deepEqual(safe.actor, { id: '9007199254740991' });
  assert.equal(
    compileNode(compile('to_string(n)'))(parseJson('{"n":12345678901234567}')),
    '12345678901234567',
  );
  // Digits sent as text stay a name.
  const quoted = messageOf(
    'json',
    '{"ts":1717236000123456789,"target":"123456789012345678","n":12345678901234567}',
  );
  assert.equal(quoted.target, '123456789012345678');
  const record = '"timeUnixNano":"1717236000123456789","attributes":{"user.id":1234567890123456789}';
  assert.deepEqual(messageOf('otlp', `{${record}}`).actor, { id: '1234567890123456789' });
});

test('the names that `from` takes are those of the OpenAPI document, each with a mapping', () => {
  const file = new URL('../../schema/openapi.json', import.meta.url);
  const document = JSON.parse(readFileSync(file, 'utf8')) as {
    paths: Record<
      string,
      { post: { parameters: { name?: string; schema?: { anyOf?: { enum?: string[] }[] } }[] } }
    >;
  };
  const from = document.paths['/api/v1/audit']?.post.parameters.find(({ name }) => name === 'from');
  assert.deepEqual(from?.schema?.anyOf?.[0]?.enum, [...adapterNames]);
  for (const name of adapterNames) assert.equal(mappingOf(name).name, name);
});

test('the mapping that the documents show is the one that tests send records by', () => {
  const shown: unknown = JSON.parse(blockOf('adapters.md', 'badges.json'));
  const file = new URL('../fixtures/mappings/badges.json', import.meta.url);
  assert.deepEqual(shown, JSON.parse(readFileSync(file, 'utf8')));
});
