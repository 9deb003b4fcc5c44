import { strict as assert } from 'node:assert';
import { before, describe, test } from 'node:test';
import { demoActivities, demoTransfers } from '../../src/demo/activities.ts';
import { demoEvents } from '../../src/demo/events.ts';
import { demoStaff } from '../../src/demo/people.ts';
import { activityFamilies, activityTitles } from '../../src/ocsf/activities.ts';
import { mapText } from '../ocsf/arbitrary.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { alwaysRedacted } from '../../src/ocsf/redact.ts';

const endMicros = Date.UTC(2026, 10, 20, 12) * 1000;
const dayMicros = 86_400_000_000;
const count = 30_000;
const users = demoStaff('acme.example');

interface Event {
  readonly level: string;
  readonly message: {
    readonly timestamp: string;
    readonly actor: { readonly name: string; readonly email: string; readonly type: string };
    readonly action: number | { readonly code: number };
    readonly target: { readonly name: string; readonly type: string };
    readonly result: { readonly code: number };
    readonly remote: { readonly ip: string; readonly port: number };
    readonly extra: Readonly<Record<string, unknown>>;
    readonly flow_id?: string;
    readonly org: string;
  };
}

const generate = (more: Partial<Parameters<typeof demoEvents>[0]> = {}) => [
  ...demoEvents({ organization: 'acme', users, count, endMicros, seed: 7, ...more }),
];
const codeOf = ({ message: { action } }: Event) => (typeof action === 'number' ? action : action.code);

let lines: string[];
let events: Event[];
before(() => {
  lines = generate();
  events = lines.map((line) => JSON.parse(line) as Event);
});

describe('demo events', () => {
  test('are exactly as many as asked for, whatever the number', () => {
    assert.equal(lines.length, count);
    for (const few of [0, 1, 2, 719, 1000]) assert.equal(generate({ count: few }).length, few);
  });

  test('are the same for the same seed and others for another', () => {
    assert.deepEqual(generate({ count: 2000 }), generate({ count: 2000 }));
    assert.notDeepEqual(generate({ count: 2000 }), generate({ count: 2000, seed: 8 }));
  });

  test('are all accepted by the mapper, each a line of about 700 bytes', () => {
    const mapper = new Mapper({ appName: 'demo', redactKeys: alwaysRedacted });
    for (const line of lines) {
      assert.ok(!line.includes('\n'));
      const mapped = mapText(mapper, line, (org) => {
        assert.equal(org, 'acme');
        return { id: '11111111-1111-4111-8111-111111111111', retentionDays: undefined };
      });
      if (typeof mapped === 'string') assert.fail(`${mapped} ${line}`);
    }
    const average = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / count;
    assert.ok(average > 500 && average < 850, `${average} bytes`);
  });

  test('come from every family, with codes and titles of the registry', () => {
    const codes = new Set(events.map(codeOf));
    for (const { family, from, to } of activityFamilies) {
      assert.ok(
        [...codes].some((code) => code >= from && code <= to),
        family,
      );
    }
    for (const code of codes) assert.ok(activityTitles.has(code), String(code));
    for (const { code, title } of demoActivities) assert.equal(title, activityTitles.get(code));
    for (const { started, completed, failed } of demoTransfers) {
      for (const [code, title] of [started, completed, failed]) assert.equal(title, activityTitles.get(code));
    }
  });

  test('are of the last 30 days, in order but for what ends after its hour', () => {
    const times = events.map(({ message }) => Date.parse(message.timestamp) * 1000);
    assert.ok(Math.min(...times) >= endMicros - 30 * dayMicros);
    assert.ok(Math.max(...times) <= endMicros);
    const late = times.filter((time, index) => index > 0 && time < (times[index - 1] ?? 0)).length;
    assert.ok(late < count / 100, `${late} out of order`);
  });

  test('have flows: pairs, failures, and starts that never ended', () => {
    const byFlow = new Map<string, Event[]>();
    for (const event of events) {
      const flow = event.message.flow_id;
      if (flow !== undefined) byFlow.set(flow, [...(byFlow.get(flow) ?? []), event]);
    }
    for (const { kind, started, completed, failed } of demoTransfers) {
      const flows = [...byFlow.values()].filter(
        ([first]) => first !== undefined && codeOf(first) === started[0],
      );
      const ending = (code: number) =>
        flows.filter(([, second]) => second !== undefined && codeOf(second) === code);
      const unfinished = flows.filter((flow) => flow.length === 1);
      assert.ok(flows.length > count / 60, kind);
      assert.ok(ending(completed[0]).length > flows.length * 0.9, kind);
      assert.ok(ending(failed[0]).length > flows.length * 0.01, kind);
      assert.ok(unfinished.length > 0 && unfinished.length < flows.length * 0.06, kind);
      for (const [first] of flows) {
        assert.equal(typeof first?.message.extra['fileName'], 'string');
        assert.equal(typeof first?.message.extra['fileSize'], 'number');
      }
    }
    assert.ok([...byFlow.values()].some((flow) => flow.length > 2));
  });

  test('look like people: scripts, sites, working hours, programs, guests', () => {
    const text = lines.join('\n');
    for (const script of ['Han', 'Arabic', 'Cyrillic', 'Hangul', 'Devanagari', 'Hebrew', 'Greek', 'Thai']) {
      assert.match(text, new RegExp(`\\p{Script=${script}}`, 'u'), script);
    }
    assert.match(text, /🚀/u);
    assert.deepEqual(new Set(events.map(({ level }) => level)), new Set(['INFO', 'WARN', 'ERROR']));
    assert.ok(events.some(({ message }) => message.remote.ip.includes(':')));
    const types = new Set(events.map(({ message }) => message.actor.type));
    assert.deepEqual(types, new Set(['User', 'App/System', 'External user']));
    const actors = new Set(events.map(({ message }) => message.actor.email));
    for (const { email } of users) assert.ok(actors.has(email), email);
    const weekdays = [0, 0, 0, 0, 0, 0, 0];
    for (const { message } of events) {
      const day = new Date(message.timestamp).getUTCDay();
      weekdays[day] = (weekdays[day] ?? 0) + 1;
    }
    assert.ok((weekdays[6] ?? 0) * 3 < (weekdays[2] ?? 0), `Saturday ${weekdays[6]}, Tuesday ${weekdays[2]}`);
    const failed = events.filter(({ message }) => message.result.code >= 400).length / count;
    assert.ok(failed > 0.02 && failed < 0.15, `${failed} failed`);
  });

  test('are made fast enough not to be waited for', () => {
    const begun = process.cpuUsage();
    generate({ count: 50_000 });
    const { user, system } = process.cpuUsage(begun);
    const perSecond = 50_000 / ((user + system) / 1_000_000);
    // 120,000 a second of processor time; a machine that does other things too must not fail this.
    assert.ok(perSecond > 20_000, `${Math.round(perSecond)} a second`);
  });
});

test('the roster: sixty people, an address each, every role', () => {
  assert.equal(users.length, 60);
  assert.equal(new Set(users.map(({ email }) => email)).size, 60);
  for (const { email } of users) assert.match(email, /^[a-z.-]+@acme\.example$/);
  for (const role of ['admin', 'auditor', 'member']) {
    assert.ok(
      users.slice(0, 24).some((user) => user.role === role),
      role,
    );
  }
});
