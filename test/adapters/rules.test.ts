import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { adapterNames } from '../../src/adapters/definition.ts';
import { RequestMapper } from '../../src/ingest/request-mapper.ts';
import { loneTask, outcomeOf } from '../../src/ingest/task.ts';
import { map, organization, spelledJson, storableJson, storableName } from '../ocsf/arbitrary.ts';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { checkSource } from '../ocsf/ocsf110-support.ts';

/** Rules for records of every kind (contract: Source adapters). */

/** The first record of a sample, without members that would be redacted. */
function sampleOf(name: string): string {
  const ending = ['github', 'json'].includes(name) ? 'ndjson' : 'json';
  const text = readFileSync(new URL(`../fixtures/adapters/${name}.${ending}`, import.meta.url), 'utf8');
  const value = JSON.parse(ending === 'ndjson' ? (text.split('\n')[0] ?? '') : text) as object;
  const { records } = mappingOf(name);
  const list =
    records !== undefined && records in value ? (value as Record<string, object[]>)[records] : value;
  return JSON.stringify(Array.isArray(list) ? list[0] : list).replaceAll('"authorization"', '"permission"');
}

/** The record with one more member at the end. */
const withMember = (record: string, name: string, value: string): string =>
  `${record.slice(0, -1)},${JSON.stringify(name)}:${value}}`;

const mapper = new RequestMapper({ appName: 'app', redactKeys: [] });

/** The endpoint's answer to a body with `from`, or to source events. */
function answerTo(body: string, adapter?: string) {
  const kind = {
    form: 'json',
    organization: { ...organization, slug: 'acme' },
    ownBlocks: false,
    errorsMax: 10,
    ...(adapter && { adapter }),
  } as const;
  const result = mapper.map(loneTask(() => assert.fail('not asked for'), Buffer.from(body), kind));
  const outcome = outcomeOf(result, 0);
  return outcome.kind === 'answered' ? outcome.answer : assert.fail(outcome.detail);
}

/** The stored source event of a record that must be accepted. */
function storedOf(name: string, record: string): { readonly source: string; readonly timeMicros: number } {
  const event = mappedBy(mappingOf(name), record);
  if (typeof event === 'string') assert.fail(event);
  const row = map(event[0] ?? '');
  return typeof row === 'string' ? assert.fail(row) : row;
}

test('actor and user of a record, which are copied whole, are redacted in each place', () => {
  const secret = 'hunter2';
  const person = { id: '1', email: 'ann@example.com', password: secret, sessionToken: secret };
  const time = '2024-06-01T10:00:00.000Z';
  for (const from of ['actor', 'user', 'target', 'result', 'request']) {
    const record = { time, message: 'saved', action: 'document.save', access_token: secret, [from]: person };
    const { source } = storedOf('json', JSON.stringify(record));
    assert.ok(source.includes('ann@example.com') && !source.includes(secret), source);
  }
});

const digits =
  '{"z":1.50,"a":12345678901234567890.10,"e":1E+2,"n":null,"7":-0.0,"l":[null,{"b":1,"a":2}],"t":"\\u00e9"}';

/** Members that no mapping knows, so all are left. */
const others = spelledJson(
  fc.dictionary(
    storableName.map((name) => `zz${name}`),
    storableJson,
    { minKeys: 1, maxKeys: 4 },
  ),
);

const broken: readonly (readonly [what: string, value: string, rule: RegExp])[] = [
  ['a lone surrogate', '"\\ud800"', /lone surrogate/],
  ['NUL', '"\\u0000"', /NUL/],
  ['a number beyond a double', '1e999', /beyond the range/],
  ['a leading zero', '01', /leading zero/],
  ['too many levels', '['.repeat(129) + ']'.repeat(129), /128/],
  ['too many bytes', JSON.stringify('x'.repeat(1024 * 1024)), /1 ?MiB|1048576|bytes/],
];

const timeMember = /("(?:time|eventTime|@timestamp|requestReceivedTimestamp|published)"):("[^"]*"|\d+)/;

for (const name of adapterNames) {
  const sample = sampleOf(name);

  test(`${name}: digits, nulls and the order of members stay as they were sent`, () => {
    const { source } = storedOf(name, withMember(sample, 'zz', digits));
    assert.ok(source.includes(`"zz":${digits}`), source);
  });

  test(`${name}: the OCSF form of what is mapped is valid, whatever else the record holds`, () => {
    const { source, timeMicros } = storedOf(name, sample);
    checkSource(source, timeMicros);
    fc.assert(
      fc.property(others, ({ text }) => {
        const stored = storedOf(name, withMember(sample, 'zz', text));
        checkSource(stored.source, stored.timeMicros);
      }),
      { numRuns: 15 },
    );
  });

  test(`${name}: what a source event may not hold is refused in a record, too`, () => {
    assert.deepEqual(answerTo(sample, name), { accepted: 1, rejected: 0, errors: [] });
    for (const [what, value, rule] of broken) {
      const plain = answerTo(`{"time":0,"message":{"action":1,"extra":{"zz":${value}}}}`);
      const adapter = answerTo(`[${sample},${withMember(sample, 'zz', value)},${sample}]`, name);
      assert.deepEqual([plain.accepted, adapter.accepted, adapter.rejected], [0, 2, 1], what);
      assert.match(plain.errors[0]?.error ?? '', rule, what);
      assert.match(adapter.errors[0]?.error ?? '', rule, what);
    }
    const late = answerTo(sample.replace(timeMember, '$1:"2300-01-01T00:00:00Z"'), name);
    assert.match(late.errors[0]?.error ?? '', /^\/message\/timestamp: .*\(as mapped from /);
  });
}
