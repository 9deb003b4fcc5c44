import { strict as assert } from 'node:assert';
import { afterEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/ingest/limits.ts';
import { limits as ocsfLimits } from '../../src/ocsf/limits.ts';
import {
  RejectionCounts,
  RejectionLog,
  type RejectionReason,
  reasonOf,
} from '../../src/ingest/rejections.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { type LoggedLine, recordingLogger } from '../http/support.ts';

const mapper = new Mapper({ appName: 'Test' });

/** The mapper's reason to reject a text. */
function errorOf(text: string): string {
  const window = toWindow(text);
  const mapped = mapper.map(window, 0, window.bytes.length, (slug) =>
    slug === undefined
      ? { id: '0b7f2a50-0000-4000-8000-000000000001', retentionDays: undefined }
      : '/message/org: no',
  );
  assert.equal(typeof mapped, 'string', text);
  return mapped as string;
}

describe('the reason of a rejected event', () => {
  const cases: readonly (readonly [string, RejectionReason])[] = [
    ['{"time":1', 'json'],
    ['[1]', 'object'],
    ['1', 'object'],
    [`{"a":"${'x'.repeat(ocsfLimits.eventBytesMax)}"}`, 'size'],
    ['{}', 'required'],
    ['{"time":0,"message":{}}', 'required'],
    ['{"time":"noon","message":{"action":1}}', 'time'],
    ['{"message":{"timestamp":"noon","action":1}}', 'time'],
    ['{"time":0,"message":{"action":1,"org":"other"}}', 'organization'],
    ['{"time":0,"message":{"action":"x"}}', 'value'],
    ['{"time":0,"message":{"action":1,"remote":{"port":70000}}}', 'value'],
  ];
  for (const [text, reason] of cases) {
    it(`is ${reason} for ${text.slice(0, 60)}`, () => assert.equal(reasonOf(errorOf(text)), reason));
  }

  it('is the retention where that has passed, and the encoding where bytes are no UTF-8', () => {
    assert.equal(reasonOf('/message/timestamp: is older than the retention of 30 days'), 'retention');
    assert.equal(reasonOf('the event is not valid UTF-8'), 'encoding');
  });
});

it('counts by reason, whole or in parts, and keep the first error of each', () => {
  const errors = fc.array(
    fc.constantFrom('/a: is required', '/b: is required; /c: no', 'the event must be an object'),
  );
  fc.assert(
    fc.property(errors, fc.nat(), (all, cut) => {
      const whole = new RejectionCounts();
      for (const error of all) whole.add(error);
      const joined = new RejectionCounts();
      for (const part of [all.slice(0, cut % (all.length + 1)), all.slice(cut % (all.length + 1))]) {
        const counts = new RejectionCounts();
        for (const error of part) counts.add(error);
        joined.addAll(counts.list());
      }
      assert.deepEqual(joined.list(), whole.list());
      const required = all.filter((error) => error.includes('required'));
      const found = whole.list().find(({ reason }) => reason === 'required');
      assert.equal(found?.events ?? 0, required.length);
      assert.equal(found?.first, required[0]?.split(';')[0]);
    }),
  );
});

it('keeps a rule whole that has a semicolon', () => {
  const error = errorOf('{"time":1714558272,"message":{"action":"x"}}');
  const counts = new RejectionCounts();
  counts.add(error);
  const [first] = counts.list();
  assert.match(first?.first ?? '', /^\/time: .*; an integer .* looks like seconds or milliseconds$/);
  assert.equal(first?.reason, 'time');
});

describe('the log of rejected events', () => {
  let close = (): void => undefined;
  afterEach(() => close());

  function setUp() {
    const logged: LoggedLine[] = [];
    const clock = { now: 1000 };
    const log = new RejectionLog(recordingLogger(logged), () => clock.now);
    close = () => log.close();
    return { logged, clock, log };
  }
  const required = { reason: 'required', events: 3, first: '/message/action: is required' } as const;

  it('has the first of each key and reason in a minute, and then how many came after it', () => {
    const { logged, clock, log } = setUp();
    log.add('k1', [required, { reason: 'json', events: 1, first: 'the event is not acceptable JSON' }]);
    log.add('k2', [required]);
    log.add('k1', [required]);
    clock.now += limits.rejectionLogMs - 1;
    log.add('k1', [required]);
    assert.deepEqual(
      logged.map(({ facts }) => facts),
      [
        { api_key: 'k1', reason: 'required', rule: '/message/action: is required' },
        { api_key: 'k1', reason: 'json', rule: 'the event is not acceptable JSON' },
        { api_key: 'k2', reason: 'required', rule: '/message/action: is required' },
      ],
    );
    clock.now += 1;
    logged.length = 0;
    log.add('k1', [required]);
    assert.deepEqual(
      logged.map(({ facts }) => facts),
      [
        { api_key: 'k1', reason: 'required', events: 8 },
        { api_key: 'k2', reason: 'required', events: 2 },
        { api_key: 'k1', reason: 'required', rule: '/message/action: is required' },
      ],
    );
    logged.length = 0;
    log.close();
    assert.deepEqual(logged[0]?.facts, { api_key: 'k1', reason: 'required', events: 2 });
  });

  it('remembers a bounded number of them, and forgets none of the events', () => {
    const { logged, log } = setUp();
    for (let key = 0; key < limits.rejectionLogKeysMax + 5; key++) log.add(`k${key}`, [required]);
    const ended = logged.filter(({ facts }) => 'events' in facts).map(({ facts }) => facts['api_key']);
    assert.deepEqual(ended, ['k0', 'k1', 'k2', 'k3', 'k4']);
  });
});
