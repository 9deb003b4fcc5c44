import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AuditlogError } from '../../src/client/error.ts';
import { eventIdentity, readEnvelope } from '../../src/client/json-text.ts';

const objects = fc.dictionary(fc.string(), fc.jsonValue());

test('cuts any envelope into the texts that it was made of, in any spacing', () => {
  fc.assert(
    fc.property(
      fc.array(objects),
      objects,
      fc.constantFrom('', ' ', '\n', '\t\r\n'),
      (events, meta, space) => {
        const texts = events.map((event) => JSON.stringify(event, null, space));
        const body = `${space}{${space}"x"${space}:${space}[1,{"data":[]}],"data":[${space}${texts.join(`${space},${space}`)}${space}],"meta":${JSON.stringify(meta)}${space}}${space}`;
        const parsed = JSON.parse(body) as { readonly data: unknown; readonly meta: unknown };
        assert.deepEqual(readEnvelope(body), { texts, events: parsed.data, meta: parsed.meta });
      },
    ),
  );
});

test('refuses every truncated envelope, and other texts', () => {
  const whole = '{"data":[{"a":"\\"]}"},{"b":[1,{}]}],"meta":{"total":2}}';
  assert.equal(readEnvelope(whole).events.length, 2);
  const broken = Array.from({ length: whole.length }, (_, end) => whole.slice(0, end));
  for (const text of [
    ...broken,
    `${whole}x`,
    '[]',
    '{"data":[1],"meta":{}}',
    '{"data":{},"meta":{}}',
    '{"data":[],,"meta":{}}',
  ])
    assert.throws(() => readEnvelope(text), AuditlogError, text);
});

test('the identity of an event leaves out the moment of reading and nothing else', () => {
  const logged = (value: number, extra = 1) =>
    `{"extra_map":{"logged_time":${extra},"metadata":{"logged_time":5}},"metadata":{"version":"1","logged_time":${value}}}`;
  assert.equal(eventIdentity(logged(1)), eventIdentity(logged(22)));
  assert.notEqual(eventIdentity(logged(1, 1)), eventIdentity(logged(1, 2)));
  assert.equal(eventIdentity('{"a":1}'), '{"a":1}');
  for (const broken of ['', '{"a', '{"metadata":{"logged_time":"'])
    assert.equal(eventIdentity(broken), broken);
  assert.equal(eventIdentity('{"metadata":"logged_time"}'), '{"metadata":"logged_time"}');
});

test('the identity of an event is the same in any layout, and keeps every string', () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(' ', '\n', '\t'), (event, space) => {
      const text = JSON.stringify(event);
      assert.equal(eventIdentity(text), text);
      assert.equal(eventIdentity(JSON.stringify(event, null, space)), text);
    }),
  );
  const long = JSON.stringify({ text: '\\" '.repeat(300_000) });
  assert.equal(eventIdentity(long), long);
});
