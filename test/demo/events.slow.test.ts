import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { acme } from '../../src/demo/acme.ts';
import { demoClues, demoEvents, storyEventsMin } from '../../src/demo/events.ts';
import { globex } from '../../src/demo/globex.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { makeRedaction } from '../../src/ocsf/redact.ts';
import { mapText } from '../ocsf/arbitrary.ts';

/** As docs/tour.md has it: a demo of 100,000 events that began then, a Sunday. */
const endMicros = Date.UTC(2026, 10, 22, 6) * 1000;
const requests = [
  { profile: acme, count: 70_000, endMicros, seed: 1 },
  { profile: globex, count: 30_000, endMicros, seed: 2 },
] as const;

const dayMicros = 86_400_000_000;

interface Event {
  readonly time: number;
  readonly level: string;
  readonly msg?: string;
  readonly message: {
    readonly timestamp: string;
    readonly actor: {
      readonly id: string;
      readonly name: string;
      readonly email: string;
      readonly type: string;
    };
    readonly action: number | { readonly code: number };
    readonly target: { readonly name: string; readonly type: string };
    readonly result: { readonly title: string; readonly description?: string; readonly code: number };
    readonly remote: { readonly ip: string; readonly port: number };
    readonly sender?: { readonly file: string };
    readonly extra: Readonly<Record<string, unknown>>;
    readonly flow_id?: string;
    readonly org: string;
  };
}

interface Read extends Event {
  readonly code: number;
  readonly ms: number;
  /** As the audit event has it. */
  readonly text: string;
}

function read(line: string): Read {
  const event = JSON.parse(line) as Event;
  const { action, result, timestamp } = event.message;
  const code = typeof action === 'number' ? action : action.code;
  const text = event.msg ?? `${result.title}: ${result.description}`;
  // In place: of a hundred thousand, copies cost more than all that is asked of them.
  return Object.assign(event, { code, ms: Date.parse(timestamp), text });
}

const few = (more: Partial<Parameters<typeof demoEvents>[0]>) => [...demoEvents({ ...requests[0], ...more })];

let lines: readonly string[][];
let companies: readonly Read[][];
before(() => {
  lines = requests.map((request) => [...demoEvents(request)]);
  companies = lines.map((company) => company.map(read));
});

describe('demo events', () => {
  test('are exactly as many as requested, in order, of the last 30 days', () => {
    assert.deepEqual(
      lines.map(({ length }) => length),
      [70_000, 30_000],
    );
    for (const count of [0, 1, 2, 719, 1000]) assert.equal(few({ count }).length, count);
    for (const events of companies) {
      assert.ok(events.every(({ ms }, index) => ms >= (events[index - 1]?.ms ?? 0)));
      assert.ok((events[0]?.ms ?? 0) * 1000 >= endMicros - 30 * 86_400_000_000);
      assert.ok((events.at(-1)?.ms ?? 0) * 1000 < endMicros);
    }
  });

  test('are the same for the same seed and others for another', () => {
    assert.deepEqual(few({ count: 2000 }), few({ count: 2000 }));
    assert.notDeepEqual(few({ count: 2000 }), few({ count: 2000, seed: 8 }));
  });

  test('are the same in each demo, at the same time of the week, whenever it is started', () => {
    // What differs are the dates.
    const undated = (line: string): string =>
      line.replace(/"time":\d+/, '').replace(/"timestamp":"\d{4}-\d\d-\d\d/, '');
    const weekLater = [...demoEvents({ ...requests[0], endMicros: endMicros + 3 * 7 * dayMicros })];
    assert.deepEqual(weekLater.map(undated), lines[0]?.map(undated));
    const daysLater = new Set(demoEvents({ ...requests[0], endMicros: endMicros + 3.3 * dayMicros }));
    const kept = lines[0]?.filter((line) => read(line).ms * 1000 > endMicros - 24 * dayMicros) ?? [];
    assert.ok(kept.length > 50_000 && kept.every((line) => daysLater.has(line)));
  });

  test('are all accepted by the mapper, each a line of about 750 bytes', () => {
    const mapper = new Mapper({ appName: 'demo', redaction: makeRedaction({ redactKeys: [] }) });
    for (const line of lines.flat().filter((_, index) => index % 40 === 0)) {
      assert.ok(!line.includes('\n'));
      const resolve = () => ({ id: '11111111-1111-4111-8111-111111111111', retentionDays: undefined });
      const mapped = mapText(mapper, line, resolve);
      if (typeof mapped === 'string') assert.fail(`${mapped} ${line}`);
    }
    for (const company of lines) {
      const average = company.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / company.length;
      assert.ok(average > 680 && average < 800, `${average} bytes`);
    }
  });
});

function found(query: Readonly<Record<string, string>>, events: readonly Read[]): Read[] {
  const { actor, flowId, startTime = '', endTime = '9' } = query;
  return events.filter(
    ({ message: { actor: by, flow_id, timestamp } }) =>
      (actor === undefined || by.email === actor) &&
      (flowId === undefined || flow_id === flowId) &&
      timestamp >= startTime &&
      timestamp <= endTime,
  );
}

describe('the stories', () => {
  test('are found by their clues, and nothing else is', () => {
    const counts = requests.map((request, index) =>
      demoClues(request).map(({ query }) => found(query, companies[index] ?? []).length),
    );
    assert.deepEqual(counts, [
      [55, 2, 5, 4001, 1, 7, 3],
      [56, 3],
    ]);
    const [haul] = companies.map((events) =>
      events.filter(({ message }) => message.flow_id?.startsWith('2b9f4c1e')),
    );
    assert.ok((haul?.at(-1)?.ms ?? 0) - (haul?.[0]?.ms ?? 0) < 3_600_000, 'within an hour');
  });

  test('are those of docs/tour.md, its answers line by line, in each demo however few events it has', () => {
    const tour = readFileSync('docs/tour.md', 'utf8');
    for (const { query } of requests.flatMap(demoClues)) {
      const filters = Object.entries(query).map(([name, value]) => `&${name}=${value}`);
      assert.ok(tour.includes(`"$EXPORT${filters.join('')}"`), filters.join(''));
    }
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const answersOf = (events: readonly Read[]): string[] =>
      events.map(({ message, code, text }) =>
        [message.timestamp, activityTitles.get(code) ?? '', text].map(quoted).join(','),
      );
    const known = new Set(answersOf(companies.flat()));
    const smallest = requests.map((request) => ({ ...request, count: storyEventsMin(request.profile) }));
    const knownOfSmallest = new Set(
      answersOf(smallest.flatMap((request) => [...demoEvents(request)].map(read))),
    );
    const answers = tour.split('\n').filter((line) => line.startsWith('"20'));
    assert.ok(answers.length > 30);
    for (const answer of answers) assert.ok(known.has(answer) && knownOfSmallest.has(answer), answer);
  });
});
