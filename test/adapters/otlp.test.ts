import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { Problem } from '../../src/base/errors/problem.ts';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { type OtlpForm, readExport } from '../../src/adapters/otlp/export.ts';
import { map } from '../ocsf/arbitrary.ts';

/** The lines of an export, or its fault. */
function read(bytes: Uint8Array, form: OtlpForm): string[] | string {
  const records: string[] = [];
  let elements = 0;
  try {
    readExport(Buffer.from(bytes), form, {
      element: () => void elements++,
      record: (text) => void records.push(text),
    });
  } catch (error) {
    if (error instanceof Problem && error.code === 'malformed') return error.message;
    throw error;
  }
  assert.ok(elements >= records.length);
  return records;
}

/** A model of AnyValue: a tag and its content. */
type Value =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'array'; readonly value: readonly Value[] }
  | { readonly kind: 'map'; readonly value: readonly Pair[] }
  | { readonly kind: 'none' };
type Pair = readonly [key: string, value: Value];

interface Model {
  readonly time: bigint;
  readonly severity: number;
  readonly body: Value;
  readonly attributes: readonly Pair[];
  readonly trace: Uint8Array;
  readonly resource: readonly Pair[];
  readonly scope: string;
}

function writeValue(writer: BinaryWriter, value: Value): void {
  switch (value.kind) {
    case 'text':
      writer.tag(1, WireType.LengthDelimited).string(value.value);
      return;
    case 'bool':
      writer.tag(2, WireType.Varint).bool(value.value);
      return;
    case 'int':
      writer.tag(3, WireType.Varint).int64(value.value);
      return;
    case 'double':
      writer.tag(4, WireType.Bit64).double(value.value);
      return;
    case 'array':
      writer.tag(5, WireType.LengthDelimited).fork();
      for (const one of value.value) message(writer, 1, () => writeValue(writer, one));
      writer.join();
      return;
    case 'map':
      message(writer, 6, () => writePairs(writer, 1, value.value));
      return;
    case 'bytes':
      writer.tag(7, WireType.LengthDelimited).bytes(value.value);
      return;
    case 'none':
      return;
    default:
      value satisfies never;
  }
}

function message(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

function writePairs(writer: BinaryWriter, field: number, pairs: readonly Pair[]): void {
  for (const [key, value] of pairs) {
    message(writer, field, () => {
      writer.tag(1, WireType.LengthDelimited).string(key);
      message(writer, 2, () => writeValue(writer, value));
    });
  }
}

/** With unknown fields between the others, and shared parts after the records. */
function protobufOf({ time, severity, body, attributes, trace, resource, scope }: Model): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(99, WireType.LengthDelimited).string('unknown');
  message(writer, 1, () => {
    message(writer, 2, () => {
      message(writer, 2, () => {
        writer.tag(1, WireType.Bit64).fixed64(time);
        writer.tag(2, WireType.Varint).int32(severity);
        writer.tag(500, WireType.Bit32).fixed32(7);
        message(writer, 5, () => writeValue(writer, body));
        writePairs(writer, 6, attributes);
        writer.tag(9, WireType.LengthDelimited).bytes(trace);
      });
      message(writer, 1, () => writer.tag(1, WireType.LengthDelimited).string(scope));
    });
    message(writer, 1, () => writePairs(writer, 1, resource));
  });
  return writer.finish();
}

function jsonValue(value: Value): unknown {
  switch (value.kind) {
    case 'text':
      return { stringValue: value.value };
    case 'bool':
      return { boolValue: value.value };
    case 'int':
      return { intValue: String(value.value) };
    case 'double':
      return { doubleValue: Number.isFinite(value.value) ? value.value : String(value.value) };
    case 'bytes':
      return { bytesValue: Buffer.from(value.value).toString('base64') };
    case 'array':
      return { arrayValue: { values: value.value.map(jsonValue) } };
    case 'map':
      return { kvlistValue: { values: jsonPairs(value.value) } };
    case 'none':
      return {};
    default:
      return value satisfies never;
  }
}

const jsonPairs = (pairs: readonly Pair[]) => pairs.map(([key, value]) => ({ key, value: jsonValue(value) }));

function jsonOf({ time, severity, body, attributes, trace, resource, scope }: Model): string {
  const record = {
    timeUnixNano: String(time),
    severityNumber: severity,
    unknown: [{ 'x"': '\\"]' }],
    body: jsonValue(body),
    attributes: jsonPairs(attributes),
    traceId: Buffer.from(trace).toString('hex').toUpperCase(),
    spanId: null,
  };
  const scopeLogs = [{ logRecords: [record], scope: { name: scope } }];
  return JSON.stringify(
    {
      unknown: { resourceLogs: 1 },
      resourceLogs: [{ scopeLogs, resource: { attributes: jsonPairs(resource) } }],
    },
    undefined,
    1,
  );
}

/** The value as JSON text, independent of the readers. */
function textOf(value: Value): string {
  switch (value.kind) {
    case 'none':
      return 'null';
    case 'array':
      return `[${value.value.map(textOf).join(',')}]`;
    case 'map':
      return pairsText(value.value);
    case 'int':
      return String(value.value);
    case 'bytes':
      return `"${Buffer.from(value.value).toString('base64')}"`;
    case 'double':
      return Number.isFinite(value.value) ? JSON.stringify(value.value) : `"${value.value}"`;
    case 'bool':
    case 'text':
      return JSON.stringify(value.value);
    default:
      return value satisfies never;
  }
}

function pairsText(pairs: readonly Pair[]): string {
  const last = new Map(pairs);
  return `{${[...last].map(([key, value]) => `${JSON.stringify(key)}:${textOf(value)}`).join(',')}}`;
}

function expected({ time, severity, body, attributes, trace, resource, scope }: Model): string {
  const members = [
    `"timeUnixNano":"${time}"`,
    severity === 0 ? '' : `"severityNumber":${severity}`,
    `"body":${textOf(body)}`,
    attributes.length === 0 ? '' : `"attributes":${pairsText(attributes)}`,
    trace.every((byte) => byte === 0) ? '' : `"traceId":"${Buffer.from(trace).toString('hex')}"`,
    resource.length === 0 ? '' : `"resource":{"attributes":${pairsText(resource)}}`,
    scope === '' ? '' : `"scope":{"name":${JSON.stringify(scope)}}`,
  ];
  return `{${members.filter((text) => text !== '').join(',')}}`;
}

const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const { value: arbitraryValue } = fc.letrec<{ value: Value; pair: Pair }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.record({ kind: fc.constant('text' as const), value: text }),
    fc.record({ kind: fc.constant('bool' as const), value: fc.boolean() }),
    fc.record({ kind: fc.constant('int' as const), value: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n) }),
    fc.record({
      kind: fc.constant('double' as const),
      value: fc.double().map((one) => (one === 0 ? 0 : one)),
    }),
    fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array({ maxLength: 6 }) }),
    fc.constant({ kind: 'none' as const }),
    fc.record({ kind: fc.constant('array' as const), value: fc.array(tie('value'), { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('map' as const), value: fc.array(tie('pair'), { maxLength: 3 }) }),
  ),
  pair: fc.tuple(text, tie('value')),
}));
const arbitraryPairs = fc.array(fc.tuple(fc.oneof(text, fc.constant('twice')), arbitraryValue), {
  maxLength: 4,
});
const arbitraryModel: fc.Arbitrary<Model> = fc.record({
  time: fc.bigInt(10n ** 17n, 2n ** 63n - 1n),
  severity: fc.nat(24),
  body: arbitraryValue,
  attributes: arbitraryPairs,
  trace: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  resource: arbitraryPairs,
  scope: text,
});

test('both encodings of a record give the same line, with every digit and fields in any order', () => {
  fc.assert(
    fc.property(arbitraryModel, (model) => {
      assert.deepEqual(read(protobufOf(model), 'protobuf'), [expected(model)]);
      // JSON may spell a double otherwise.
      const [line = ''] = read(Buffer.from(jsonOf(model)), 'json');
      assert.deepEqual(JSON.parse(line), JSON.parse(expected(model)));
    }),
  );
});

test('truncated, changed and random bytes are refused', () => {
  const forms = ['protobuf', 'json'] as const;
  const answered = (bytes: Uint8Array, form: OtlpForm): void => {
    const records = read(bytes, form);
    if (typeof records !== 'string') for (const record of records) JSON.parse(record);
    else
      assert.match(
        records,
        /^The body is not an ExportLogsServiceRequest of OTLP in (JSON|protobuf): .+\.$/s,
      );
  };
  fc.assert(
    fc.property(arbitraryModel, fc.nat(), fc.nat(255), fc.uint8Array(), (model, place, byte, random) => {
      for (const form of forms) {
        const bytes = form === 'json' ? Buffer.from(jsonOf(model)) : Buffer.from(protobufOf(model));
        const at = place % bytes.length;
        answered(bytes.subarray(0, at), form);
        answered(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]), form);
        bytes[at] = byte;
        answered(bytes, form);
        answered(random, form);
      }
    }),
  );
  for (const [body, fault] of [
    ['{"resourceLogs":{}}', '/resourceLogs: must be an array'],
    [
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityNumber":"x"}]}]}]}',
      '/resourceLogs/0/scopeLogs/0/logRecords/0/severityNumber: must be',
    ],
    [
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"boolValue":1}}]}]}]}',
      '/body/boolValue: must be true or false',
    ],
    [
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":nul}]}]}]}',
      '/logRecords/0: is not acceptable JSON',
    ],
    ['{"resourceLogs":[] "a":1}', '/resourceLogs: is not acceptable JSON: expected nothing after the array'],
    ['{"resourceLogs":nope}', '/resourceLogs: is not acceptable JSON'],
    ['[]', 'the body must be an object'],
    ['', 'the body is not acceptable JSON'],
    ['{nope', 'the body is not acceptable JSON'],
  ] as const)
    assert.match(String(read(Buffer.from(body), 'json')), new RegExp(fault), body);
});

test('a record nested too deep is rejected alone, without a stack overflow', () => {
  // Lengths come first, so the message is made from the inside.
  let bytes = Buffer.alloc(0);
  for (let depth = 0; depth < 1_000; depth++) {
    const array = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(bytes).finish();
    bytes = Buffer.from(new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(array).finish());
  }
  const wrapped = [5, 2, 2, 1].reduce<Uint8Array>(
    (inner, field) => new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(inner).finish(),
    bytes,
  );
  const [record = ''] = read(wrapped, 'protobuf');
  assert.equal(JSON.parse(record), '/body: must not be nested deeper than 123 levels');
});

test('a value of the allowed depth is read in linear time', () => {
  const text = `]}"\\[{${'x'.repeat(900_000)}`;
  const nested = (depth: number): string =>
    `${'{"arrayValue":{"values":['.repeat(depth)}{"stringValue":${JSON.stringify(text)}}${']}}'.repeat(depth)}`;
  const logRecord = `{"timeUnixNano":"1717236000123456789","body":${nested(122)}}`;
  const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${Array(6).fill(logRecord).join()}]}]}]}`;
  const before = process.cpuUsage();
  const lines = read(Buffer.from(body), 'json');
  // A new search at each level would take 6 s.
  const { user } = process.cpuUsage(before);
  assert.ok(user < 2_500_000, `${user} µs`);
  const line = `{"timeUnixNano":"1717236000123456789","body":${'['.repeat(122)}${JSON.stringify(text)}${']'.repeat(122)}}`;
  assert.deepEqual(lines, Array(6).fill(line));
});

test('a record that breaks a rule of OTLP is rejected alone, with the name of its field', () => {
  const time = { timeUnixNano: '1717236000123456789' };
  const cases: readonly (readonly [record: object, refusal: RegExp])[] = [
    [{}, /^\/timeUnixNano: is required/],
    [{ timeUnixNano: '1717236000' }, /^\/timeUnixNano: must be nanoseconds/],
    [{ observedTimeUnixNano: '1717236000000000' }, /^\/observedTimeUnixNano: must be nanoseconds/],
    [{ ...time, traceId: 'zz' }, /^\/traceId: must be 16 bytes/],
    [{ ...time, traceId: 'abcdef' }, /^\/traceId: must be 16 bytes/],
    [{ ...time, spanId: 'a'.repeat(32) }, /^\/spanId: must be 8 bytes/],
    [{ ...time, body: { bytesValue: '?' } }, /^\/body\/bytesValue: must be base64$/],
    [{ ...time, body: { doubleValue: 'Infinity' }, eventName: 'a\0' }, /^\/eventName: must not contain NUL$/],
    [
      { ...time, attributes: [{ key: 'a', value: { stringValue: '\ud800' } }] },
      /^\/attributes\/0\/value\/str/,
    ],
  ];
  for (const [record, refusal] of cases) {
    const logRecords = [record, { ...time, body: { bytesValue: '-_8' } }];
    const [first = '', second = ''] = read(
      Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })),
      'json',
    );
    assert.match(JSON.parse(first) as string, refusal);
    assert.equal((JSON.parse(second) as { body: string }).body, '+/8=');
  }
  const text = protobufOf({
    time: 10n ** 18n,
    severity: 1,
    body: { kind: 'text', value: 'a\0' },
    attributes: [],
    trace: new Uint8Array(16),
    resource: [],
    scope: '',
  });
  assert.deepEqual([read(text, 'protobuf')].flat(), ['"/body: must not contain NUL"']);
  const wire = String(read(new Uint8Array([1, 2, 3]), 'protobuf'));
  assert.match(wire, /: a field .+, before byte \d+\.$/);
});

test('a record larger than an event is rejected alone; a resource as large rejects all', () => {
  const attributes = Array.from({ length: 100_000 }, (_, n): Pair => [`key ${n}`, { kind: 'none' }]);
  const model = {
    time: 10n ** 18n,
    severity: 1,
    body: { kind: 'none' },
    trace: new Uint8Array(0),
    scope: '',
  } as const;
  const record = { ...model, attributes, resource: [] };
  const resource = { ...model, attributes: [], resource: attributes };
  const large = [
    ['protobuf', protobufOf(record), protobufOf(resource)],
    ['json', Buffer.from(jsonOf(record)), Buffer.from(jsonOf(resource))],
  ] as const;
  for (const [form, ofRecord, ofResource] of large) {
    const [text = ''] = read(ofRecord, form);
    const event = mappedBy(mappingOf('otlp'), text);
    if (typeof event === 'string') assert.fail(event);
    assert.equal(map(event[0] ?? ''), 'the event must be at most 1048576 bytes');
    assert.throws(() => read(ofResource, form), { code: 'too_large' });
  }
});
