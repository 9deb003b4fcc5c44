import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Arena } from '../../src/ocsf/byte-sink.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { SourceValidator, toEvent, isSurelyValid } from '../../src/ocsf/source-event.ts';
import { SourceReading, readSource, releaseReading } from '../../src/ocsf/source-fields.ts';
import { mapped, spelledJson } from './arbitrary.ts';
import { rounds } from '../support/rounds.ts';

const reading = new SourceReading(new Redaction([]));
const arena = new Arena(new Uint8Array(0));
const validator = new SourceValidator();

/** Results of the quick check and the schema for an event's text. */
function verdicts(text: string): { quick: boolean; schema: boolean } {
  const { text: bytesText, bytes } = toWindow(text);
  arena.open(bytes, 0, bytes.length, 0);
  try {
    assert.equal(readSource(reading, arena, bytesText, 0), undefined, text);
    return { quick: isSurelyValid(reading), schema: validator.isValid(toEvent(reading)) };
  } finally {
    releaseReading(reading);
  }
}

const anything = fc.constantFrom<unknown>(
  null,
  '',
  'x',
  'é',
  0,
  -0,
  1,
  1.5,
  1e3,
  -7,
  70_000,
  2 ** 53,
  true,
  false,
  [],
  [1],
  {},
);
/** Mostly a usual value, sometimes one at a rule's edge, rarely any. */
const mostly = (usual: readonly unknown[], edge: readonly unknown[]) =>
  fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...usual) },
    { weight: edge.length, arbitrary: fc.constantFrom(...edge) },
    { weight: 1, arbitrary: anything },
  );
const maybe = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: anything });
const times = mostly(
  ['2024-05-01T10:11:12Z', '2024-05-01t10:11:12.123456789+02:00', 0, 7_258_118_400_000_000],
  [
    '2024-05-01 10:11:12+0200',
    '2200-01-01T00:00:00.000001Z',
    '1969-12-31T23:59:59Z',
    '2024-02-30T00:00:00Z',
    7_258_118_400_000_001,
    1_714_558_272,
    1_714_558_272_345,
    99_999_999_999_999,
    100_000_000_000_000,
  ],
);
const addresses = mostly(
  ['::1', '1.2.3.4', 'AWS Internal', 'é'.repeat(127)],
  ['é'.repeat(255), '"'.repeat(200), 'x'.repeat(255), 'x'.repeat(256), 'é'.repeat(256)],
);
const ports = mostly([0, 443, 65_535], [65_536, -1]);
const uuids = mostly(
  ['01234567-89AB-4CDE-8F01-23456789ABCD', '00000000-0000-0000-0000-000000000000'],
  ['0123456789AB-4CDE-8F01-23456789ABCDab', '01234567-89AB-4CDE-8F01-23456789ABCG'],
);
const codes = mostly([200, 404, -5, 123_456_789_012_345], [1_234_567_890_123_456, 1e21]);
const word = mostly(['x', 'Wörter', '"quoted"', 'ERROR', 'WARN'], [null]);
const record = (members: Record<string, fc.Arbitrary<unknown>>) => fc.record(members, { requiredKeys: [] });
const party = { id: word, name: word, email: word, type: word };
const event = record({
  time: times,
  level: word,
  msg: word,
  message: maybe(
    record({
      timestamp: times,
      actor: fc.oneof(word, record(party)),
      action: fc.oneof(codes, record({ code: codes, title: word })),
      target: fc.oneof(word, record(party)),
      result: maybe(record({ title: word, description: word, code: codes, detail: word })),
      remote: maybe(record({ ip: addresses, port: ports })),
      sender: maybe(record({ file: word, email: word, hash: word })),
      extra: maybe(record({ a: word, b: anything })),
      flow_id: uuids,
      log: maybe(record({ provider: word, version: word })),
      org: word,
    }),
  ),
});

test('an event that the quick check lets pass is valid by the schema', () => {
  let quickly = 0;
  let valid = 0;
  fc.assert(
    fc.property(spelledJson(event), ({ text }) => {
      const { quick, schema } = verdicts(text);
      if (quick) assert.ok(schema, text);
      quickly += quick ? 1 : 0;
      valid += schema ? 1 : 0;
    }),
    { numRuns: rounds(6000, 20_000) },
  );
  // The quick check must accept a share of events.
  assert.ok(quickly > valid / 20, `${quickly} of ${valid} valid events`);
});

test('the usual events need no second look', () => {
  const usual = {
    time: '2024-05-01T10:11:12Z',
    level: 'INFO',
    message: {
      actor: { id: 'u', name: 'Zoë', email: 'zoe@x.example', type: 'User' },
      action: { code: 2001, title: 'Sent "it"' },
      target: 'plan.pdf',
      result: { code: 200 },
      remote: { ip: '10.0.0.1', port: 443 },
      flow_id: '01234567-89AB-4CDE-8F01-23456789ABCD',
    },
  };
  assert.deepEqual(verdicts(JSON.stringify(usual)), { quick: true, schema: true });
});

test('writes every safe integer with its own digits', () => {
  const edges = [0, 9, 10, 99, 100, 2 ** 53 - 1, 1 - 2 ** 53, 9_007_199_254_740_989, 999_999_999_999_999];
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeInteger(), fc.constantFrom(...edges)), (code) => {
      const { ocsf } = mapped({ time: 0, message: { action: code } });
      assert.equal(/"activity_id":(-?\d+),/.exec(ocsf)?.[1], String(code));
    }),
    { numRuns: rounds(900, 3000), examples: edges.map((edge): [number] => [edge]) },
  );
});
