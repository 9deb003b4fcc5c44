import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits as baseLimits } from '../../src/base/limits.ts';
import { limits } from '../../src/ocsf/limits.ts';
import { readSchema } from '../../src/ocsf/source-event.ts';
import { eventWith, map, mapped, spelledJson, storableJson } from './arbitrary.ts';
import { rounds } from '../support/rounds.ts';

const timeRule =
  'must be an RFC 3339 time with an offset, or integer Unix microseconds, from 1970-01-01 to 2200-01-01';

const addressRule = 'must be a string of at most 255 characters';
const unitRule =
  'must be Unix microseconds; an integer from 1 to 10^14 - 1 looks like seconds or milliseconds';

const refused: readonly (readonly [unknown, string])[] = [
  [[], 'the event must be an object'],
  ['"text"', 'the event must be an object'],
  ['null', 'the event must be an object'],
  ['', 'the event is not acceptable JSON at byte 0: expected a value, found the end'],
  ['{"a":1}{', 'the event is not acceptable JSON at byte 7: expected the end'],
  [{}, '/message: is required'],
  [{ time: 0, message: null }, '/message: is required'],
  [{ time: 0, message: [] }, '/message: must be an object'],
  [{ time: 0, message: {} }, '/message/action: is required'],
  [{ message: { action: 1 } }, '/message/timestamp: is required'],
  [{ time: '', message: { action: 1, timestamp: null } }, '/message/timestamp: is required'],
  [{ message: {} }, '/message/timestamp: is required; /message/action: is required'],
  [eventWith({ action: null }), '/message/action: is required'],
  [eventWith({ action: '' }), '/message/action: is required'],
  [eventWith({ action: '1001' }), '/message/action: must be an integer or an object'],
  [eventWith({ action: 1.5 }), '/message/action: must be an integer or an object'],
  [eventWith({ action: {} }), '/message/action/code: is required'],
  [eventWith({ action: { code: 1.5 } }), '/message/action/code: must be an integer'],
  [eventWith({ action: { code: 1, title: 5 } }), '/message/action/title: must be a string'],
  [eventWith({ action: 2 ** 53 }), '/message/action: must be <= 9007199254740991'],
  [eventWith({ action: -(2 ** 53) }), '/message/action: must be >= -9007199254740991'],
  [eventWith({}, { time: 'yesterday' }), `/time: ${timeRule}`],
  [eventWith({}, { time: '2024-01-01T00:00:00' }), `/time: ${timeRule}`],
  [eventWith({}, { time: 1.5 }), `/time: ${timeRule}`],
  [eventWith({}, { time: true }), `/time: ${timeRule}`],
  [eventWith({}, { time: -1 }), `/time: ${timeRule}`],
  [eventWith({}, { time: 7_258_118_400_000_001 }), `/time: ${timeRule}`],
  [eventWith({ timestamp: '1969-12-31T23:59:59Z' }), `/message/timestamp: ${timeRule}`],
  [eventWith({ timestamp: '2200-01-01T00:00:00.000001Z' }), `/message/timestamp: ${timeRule}`],
  [eventWith({}, { level: 5 }), '/level: must be a string'],
  [eventWith({}, { msg: {} }), '/msg: must be a string'],
  [eventWith({ actor: 7 }), '/message/actor: must be a string or an object'],
  [eventWith({ actor: { email: [] } }), '/message/actor/email: must be a string'],
  [eventWith({ target: true }), '/message/target: must be a string or an object'],
  [eventWith({ target: { name: 1 } }), '/message/target/name: must be a string'],
  [eventWith({ result: 'ok' }), '/message/result: must be an object'],
  [eventWith({ result: { code: '200' } }), '/message/result/code: must be an integer'],
  [eventWith({ remote: { ip: 'x'.repeat(256) } }), `/message/remote/ip: ${addressRule}`],
  [eventWith({ remote: { ip: 'é'.repeat(256) } }), `/message/remote/ip: ${addressRule}`],
  [eventWith({ remote: { ip: 7 } }), `/message/remote/ip: ${addressRule}`],
  [eventWith({}, { time: 1 }), `/time: ${unitRule}`],
  [eventWith({}, { time: 1_714_558_272 }), `/time: ${unitRule}`],
  [eventWith({ timestamp: 1_714_558_272_345 }), `/message/timestamp: ${unitRule}`],
  [eventWith({ timestamp: 99_999_999_999_999 }), `/message/timestamp: ${unitRule}`],
  [eventWith({ remote: { port: 65_536 } }), '/message/remote/port: must be <= 65535'],
  [eventWith({ remote: { port: -1 } }), '/message/remote/port: must be >= 0'],
  [eventWith({ remote: { port: '80' } }), '/message/remote/port: must be an integer'],
  [eventWith({ sender: { hash: 1 } }), '/message/sender/hash: must be a string'],
  [eventWith({ extra: [] }), '/message/extra: must be an object'],
  [eventWith({ extra: 'x' }), '/message/extra: must be an object'],
  [eventWith({ flow_id: 'abc' }), '/message/flow_id: must be a UUID'],
  [eventWith({ flow_id: '{01234567-89ab-4cde-8f01-23456789abcd}' }), '/message/flow_id: must be a UUID'],
  [eventWith({ log: { provider: 1 } }), '/message/log/provider: must be a string'],
  [eventWith({ org: 5 }), '/message/org: must be a string'],
];

test('errors have pointer and rule', () => {
  for (const [event, words] of refused) assert.equal(map(event), words);
});

test('sender fields are shown as sent', () => {
  for (const ip of ['AWS Internal', '256.1.1.1', 'fe80::1%eth0', 'a "b"', 'é'.repeat(255), 'x'.repeat(255)]) {
    assert.ok(
      mapped(eventWith({ remote: { ip } })).ocsf.includes(`"src_endpoint":{"ip":${JSON.stringify(ip)}}`),
    );
  }
});

test('times as producers write them', () => {
  for (const time of ['2024-05-01 10:11:12Z', '2024-05-01T12:11:12+0200', '2024-05-01 12:11:12+0200']) {
    assert.equal(mapped(eventWith({}, { time })).timeMicros, 1_714_558_272_000_000, time);
  }
  assert.equal(mapped(eventWith({}, { time: 100_000_000_000_000 })).timeMicros, 100_000_000_000_000);
});

test('at most five errors are reported', () => {
  const many = eventWith({ actor: 1, target: 1, result: 1, remote: 1, sender: 1, extra: 1, org: 1 });
  const words = map(many);
  assert.ok(typeof words === 'string');
  assert.equal(words.split('; ').length, 5);
});

const optional = 'timestamp actor target result remote sender extra flow_id log org'.split(' ');

test('null and empty strings count as absent for every optional field', () => {
  const plain = mapped(eventWith());
  for (const empty of [null, '']) {
    for (const name of optional) {
      const { source, ...row } = mapped(eventWith({ [name]: empty }));
      assert.deepEqual({ ...row, source: plain.source }, plain, name);
      assert.ok(source.includes(`"${name}":${JSON.stringify(empty)}`));
    }
    const inner = mapped(
      eventWith(
        {
          actor: { id: empty, name: empty, email: empty, type: empty },
          action: { code: 1001, title: empty },
          target: { id: empty, name: empty, type: empty },
          result: { title: empty, description: empty, code: empty, detail: empty },
          remote: { ip: empty, port: empty },
          sender: { file: empty, email: empty, hash: empty },
          log: { provider: empty, version: empty },
        },
        { level: empty, msg: empty },
      ),
    );
    assert.deepEqual({ ...inner, source: plain.source }, plain);
  }
});

test('integers may be spelled with a fraction or an exponent, but not come about by rounding', () => {
  const withCode = (code: string) => map(`{"time":0,"message":{"action":${code}}}`);
  for (const [spelled, code] of [
    ['1001.0', 1001],
    ['1e3', 1000],
    ['1.5e1', 15],
    ['10e-1', 1],
    ['0.0e-5', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['9007199254740991', 2 ** 53 - 1],
  ] as const) {
    const row = withCode(spelled);
    assert.ok(typeof row !== 'string' && Object.is(row.activityId, code), spelled);
  }
  for (const spelled of '0.99999999999999999999 1e-400 9007199254740990.6 10e-2 9007199254740993'.split(
    ' ',
  )) {
    const words = withCode(spelled);
    assert.ok(typeof words === 'string' && words.startsWith('/message/action: must be'), spelled);
  }
});

test('the last value of a doubled name counts, as for the platform', () => {
  assert.equal(mapped('{"time":0,"message":{"action":5},"message":{"action":6}}').activityId, 6);
  assert.equal(mapped('{"time":0,"message":{"action":5,"act\\u0069on":6}}').activityId, 6);
  assert.equal(map('{"time":0,"message":{"action":5},"message":{}}'), '/message/action: is required');
  const row = mapped(
    '{"time":0,"message":{"action":5,"actor":{"email":"a@b.c"},"actor":{"name":"N"},"extra":{"a":1},"extra":null}}',
  );
  assert.equal(row.actorEmail, '');
  assert.ok(!row.ocsf.includes('extra_map'));
});

test('an event has a bound in UTF-8 bytes', () => {
  const sized = (bytes: number, fill: string) => {
    const empty = JSON.stringify(eventWith({}, { msg: '' }));
    return JSON.stringify(
      eventWith({}, { msg: fill.repeat(Math.floor((bytes - empty.length) / Buffer.byteLength(fill))) }),
    );
  };
  assert.equal(typeof map(sized(limits.eventBytesMax, 'x')), 'object');
  assert.equal(typeof map(sized(limits.eventBytesMax, '€')), 'object');
  assert.equal(typeof map(`\n ${sized(limits.eventBytesMax, 'x')} \r`), 'object');
  const spaced = sized(limits.eventBytesMax, 'x').replace('{', '{ ');
  assert.equal(map(spaced), 'the event must be at most 1048576 bytes');
  assert.equal(map(sized(limits.eventBytesMax + 6, '€')), 'the event must be at most 1048576 bytes');
});

test('the schema and the bounds agree', () => {
  interface Bounds {
    minimum: number;
    maximum: number;
    allOf: [{ not: { minimum: number; maximum: number } }];
  }
  const { properties } = readSchema('source-event') as {
    properties: { time: Bounds; message: { properties: { timestamp: Bounds } } };
  };
  for (const { minimum, maximum, allOf } of [properties.time, properties.message.properties.timestamp]) {
    assert.equal(minimum, baseLimits.eventTimeMicrosMin);
    assert.equal(maximum, baseLimits.eventTimeMicrosMax);
    assert.equal(allOf[0].not.maximum, limits.eventTimeIntegerMin - 1);
  }
});

test('nothing that a text holds is an exception', () => {
  const isAnswer = (answer: unknown) =>
    assert.ok(typeof answer === 'object' || (typeof answer === 'string' && /^(\/|the event )/.test(answer)));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
      isAnswer(map(Buffer.from(bytes).toString('latin1'))),
    ),
    { numRuns: rounds(900, 3000) },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => isAnswer(map(text))),
    { numRuns: rounds(900, 3000) },
  );
  fc.assert(
    fc.property(spelledJson(storableJson), ({ text }) => isAnswer(map(text))),
    { numRuns: rounds(300, 1000) },
  );
});

test('values of any type in the place of any field give a row or errors', () => {
  const inner = 'id name email type code title description detail ip port file hash provider version'.split(
    ' ',
  );
  const value = fc.oneof(
    storableJson,
    fc.dictionary(fc.constantFrom(...inner), storableJson),
    fc.constantFrom('2024-01-01T00:00:00Z', 1001),
  );
  const event = fc.record(
    {
      time: value,
      level: value,
      msg: value,
      message: fc.dictionary(fc.constantFrom('action', ...optional), value),
    },
    { requiredKeys: ['message'] },
  );
  fc.assert(
    fc.property(spelledJson(event), ({ value, text }) => {
      const answer = map(text);
      // Spelling does not change the message.
      const plain = map(value);
      if (typeof answer === 'string') assert.equal(answer, plain);
      else assert.equal(answer.timeMicros, typeof plain === 'string' ? plain : plain.timeMicros);
    }),
    { numRuns: rounds(900, 3000) },
  );
});
