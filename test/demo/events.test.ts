import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { acme } from '../../src/demo/acme.ts';
import { demoActivities, demoTransfers } from '../../src/demo/activities.ts';
import { demoClues, demoEnd, demoEvents } from '../../src/demo/events.ts';
import { globex } from '../../src/demo/globex.ts';
import { demoStaff, emailOf } from '../../src/demo/people.ts';
import { endingOf, sizesByEnding } from '../../src/demo/things.ts';
import { activityFamilies, activityTitles } from '../../src/ocsf/activities.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { redactionOf } from '../../src/ocsf/redact.ts';
import { mapText } from '../ocsf/arbitrary.ts';

/** As docs/tour.md has it: a demo of 100,000 events that began then, a Sunday. */
const endMicros = Date.UTC(2026, 10, 22, 6) * 1000;
const requests = [
  { profile: acme, count: 70_000, endMicros, seed: 1 },
  { profile: globex, count: 30_000, endMicros, seed: 2 },
] as const;

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

function grouped<K>(events: readonly Read[], key: (event: Read) => K): Map<K, Read[]> {
  const groups = new Map<K, Read[]>();
  for (const event of events) {
    const group = groups.get(key(event));
    if (group === undefined) groups.set(key(event), [event]);
    else group.push(event);
  }
  return groups;
}

const few = (more: Partial<Parameters<typeof demoEvents>[0]>) => [...demoEvents({ ...requests[0], ...more })];
const addresses = (events: readonly Read[]) => new Set(events.map(({ message }) => message.remote.ip)).size;

let lines: readonly string[][];
let companies: readonly Read[][];
before(() => {
  lines = requests.map((request) => [...demoEvents(request)]);
  companies = lines.map((company) => company.map(read));
});

describe('demo events', () => {
  test('are exactly as many as asked for, whatever the number, in order, of the last 30 days', () => {
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

  test('are all accepted by the mapper, each a line of about 750 bytes', () => {
    const mapper = new Mapper({ appName: 'demo', redaction: redactionOf({ redactKeys: [] }) });
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

  test('come from every family, with codes of the registry', () => {
    for (const events of companies) {
      const codes = new Set(events.map(({ code }) => code));
      for (const { family, from, to } of activityFamilies)
        assert.ok(
          [...codes].some((code) => code >= from && code <= to),
          family,
        );
      for (const code of codes) assert.ok(activityTitles.has(code), String(code));
    }
  });

  test('leave out no code of the registry but what a demo cannot have happened to it', () => {
    const told = new Set([
      ...demoActivities.keys(),
      ...demoTransfers.flatMap(({ started, completed, failed }) => [started, completed, failed]),
      1001,
      1002,
      1003,
      1101,
      1102,
    ]);
    const left = [...activityTitles.keys()].filter((code) => !told.has(code));
    // A link to a sign-on, which the companies have none of; lost events; an organization that is created, deleted, held, locked, unlocked, keeps less, or forgets a person.
    assert.deepEqual(left, [1008, 4040, 5010, 5012, 5013, 5014, 5015, 5016, 5020, 5021]);
  });

  test('keep one address for a day of a person, and for a transfer or a login', () => {
    for (const [index, events] of companies.entries()) {
      const profile = requests[index]?.profile ?? assert.fail();
      const usual = events.filter(({ message }) => message.remote.ip !== '192.0.2.177');
      const byActor = grouped(usual, ({ message }) => message.actor.email);
      for (const [city, { utcOffsetHours, people }] of Object.entries(profile.sites))
        for (const [, local] of people) {
          const mine = byActor.get(emailOf(local, profile.slug)) ?? assert.fail(local);
          const days = grouped(mine, ({ ms }) => Math.floor((ms + utcOffsetHours * 3_600_000) / 86_400_000));
          // What begins in the evening may end after midnight. The one who left is at home on his last days.
          const more = [...days.values()].filter((day) => addresses(day) > 1).length;
          assert.ok(more <= 2, `${local} in ${city}: ${more} days`);
          assert.ok(addresses(mine) > 1, `${local} never moves`);
        }
      const flows = grouped(
        events.filter(({ message }) => message.flow_id !== undefined),
        ({ message }) => message.flow_id,
      );
      const people = new Set([2000, 2002, 2020, 1001, 1002]);
      const gestures = [...flows.values()].filter(([first]) => people.has(first?.code ?? 0));
      assert.ok(gestures.length > events.length / 10);
      for (const flow of gestures) assert.equal(addresses(flow), 1);
    }
  });

  test('have transfers that end, fail or are never heard of again, in the time that their size takes', () => {
    for (const events of companies) {
      const flows = [...grouped(events, ({ message }) => message.flow_id).values()];
      for (const { kind, started, completed, failed } of demoTransfers) {
        const begun = flows.filter(([first]) => first?.code === started);
        const share = (code: number) =>
          begun.filter((flow) => flow.some((event) => event.code === code)).length / begun.length;
        assert.ok(begun.length > 200, kind);
        assert.ok(share(completed) > 0.9, kind);
        assert.ok(share(failed) > 0.005 && share(failed) < 0.07, kind);
        assert.ok(share(completed) + share(failed) < 0.995, kind);
      }
    }
    for (const { message, code } of companies.flat()) {
      const { bytesTransferred, durationMs, fileSize } = message.extra as Record<string, number>;
      // Music plays at 320 kilobits a second, at most.
      if (code === 2021 && message.target.name.endsWith('.mp3'))
        assert.ok((bytesTransferred ?? 0) < 40 * (durationMs ?? 0), JSON.stringify(message));
      if (code !== 2001 && code !== 2003) continue;
      assert.equal(bytesTransferred, fileSize);
      // From a mobile line to that of an office.
      const perSecond = ((bytesTransferred ?? 0) / (durationMs ?? 0)) * 1000;
      assert.ok(
        perSecond < 260e6 && ((durationMs ?? 0) < 1000 || perSecond > 250e3),
        JSON.stringify(message),
      );
    }
  });

  test('are about files whose sizes fit their endings, in folders of a department', () => {
    const folders = requests.map(
      ({ profile }) => new Set(Object.values(profile.departments).flatMap(Object.keys)),
    );
    for (const [index, events] of companies.entries())
      for (const { message } of events) {
        if (message.sender === undefined) continue;
        const { fileName, fileSize, destination } = message.extra as Record<string, string>;
        const [min, max] = sizesByEnding[endingOf(fileName ?? '')] ?? assert.fail(fileName);
        assert.ok(Number(fileSize) >= min && Number(fileSize) <= max, fileName);
        assert.ok(folders[index]?.has(destination?.replace('Drive/', '') ?? ''), destination);
      }
  });

  test('come in bursts, as people work', () => {
    for (const events of companies) {
      const people = events.filter(({ message }) => message.actor.type === 'User');
      const soon = [...grouped(people, ({ message }) => message.actor.email).values()].reduce(
        (sum, mine) => sum + mine.filter(({ ms }, index) => ms - (mine[index - 1]?.ms ?? 0) < 120_000).length,
        0,
      );
      assert.ok(soon > people.length * 0.6, `${soon} of ${people.length} within two minutes of another`);
    }
  });

  test('have weekdays and hours of their trade', () => {
    const [films, machines] = companies.map((events) => {
      const usual = events.filter(
        ({ message }) => message.flow_id !== '2b9f4c1e-6d0a-4e5b-9c37-81f0a5d2e6b4',
      );
      const share = (of: (date: Date) => boolean) =>
        usual.filter(({ ms }) => of(new Date(ms))).length / usual.length;
      const day = (wanted: number) => share((date) => date.getUTCDay() === wanted);
      return {
        sunday: day(0),
        tuesday: day(2),
        friday: day(5),
        night: share((date) => date.getUTCHours() < 4),
      };
    });
    for (const { sunday, tuesday } of [films ?? assert.fail(), machines ?? assert.fail()])
      assert.ok(sunday * 3 < tuesday, `Sunday ${sunday}, Tuesday ${tuesday}`);
    assert.ok((machines?.friday ?? 0) * 1.15 < (machines?.tuesday ?? 0), 'a short Friday');
    assert.ok(
      (machines?.night ?? 0) * 3 < (films?.night ?? 0),
      'one works by day, the other around the world',
    );
  });

  test('say something: no message is more than a fiftieth, and most are of a few events', () => {
    for (const events of companies) {
      const counts = [...grouped(events, ({ text }) => text).values()].map(({ length }) => length);
      assert.ok(Math.max(...counts) < events.length / 50, `${Math.max(...counts)} times`);
      assert.ok(counts.length > events.length / 3, `${counts.length} different ones`);
      for (const { text } of events) assert.ok(!/[{}]|undefined|NaN/.test(text), text);
    }
  });

  test('look like people: scripts, levels, programs, guests, ids that stay', () => {
    const text = (lines[0] ?? []).slice(0, 10_000).join('\n');
    for (const script of ['Han', 'Arabic', 'Cyrillic', 'Hangul', 'Devanagari', 'Hebrew', 'Greek', 'Thai'])
      assert.match(text, new RegExp(`\\p{Script=${script}}`, 'u'), script);
    for (const events of companies) {
      assert.deepEqual(new Set(events.map(({ level }) => level)), new Set(['INFO', 'WARN', 'ERROR']));
      const types = new Set(events.map(({ message }) => message.actor.type));
      assert.deepEqual(types, new Set(['User', 'App/System', 'External user']));
      for (const [email, mine] of grouped(events, ({ message }) => message.actor.email))
        assert.equal(new Set(mine.map(({ message }) => message.actor.id)).size, 1, email);
      // Recorded soon after it happened.
      for (const { time, ms } of events) assert.ok(time / 1000 >= ms && time / 1000 - ms < 100);
      const failed = events.filter(({ message }) => message.result.code >= 400).length / events.length;
      assert.ok(failed > 0.02 && failed < 0.15, `${failed} failed`);
    }
  });

  test('of people with an account have its id', () => {
    const ids = new Map([['priya.shah@acme.example', '22222222-2222-4222-8222-222222222222']]);
    const events = few({ count: 3000, ids }).map(read);
    const hers = events.filter(({ message }) => message.actor.email === 'priya.shah@acme.example');
    assert.ok(hers.length > 0);
    for (const { message } of hers) assert.equal(message.actor.id, ids.get(message.actor.email));
  });

  test('are made fast enough not to be waited for', () => {
    const begun = process.cpuUsage();
    few({ count: 20_000 });
    const { user, system } = process.cpuUsage(begun);
    const perSecond = 20_000 / ((user + system) / 1_000_000);
    // 100,000 a second of processor time; a machine that does other things too must not fail this.
    assert.ok(perSecond > 20_000, `${Math.round(perSecond)} a second`);
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

  test('are told on whatever weekday the demo starts, of the days before', () => {
    for (let day = 0; day < 7; day += 1) {
      const end = endMicros + day * 86_400_000_000;
      for (const profile of [acme, globex]) {
        const request = { profile, count: 700, endMicros: end };
        const events = few({ ...request, seed: 3 }).map(read);
        for (const { title, query } of demoClues(request))
          assert.ok(found(query, events).length > 0, `${title}, ${day} days later`);
      }
    }
  });

  test('can be found later, by when the first event was', () => {
    const [first = assert.fail()] = companies[0] ?? [];
    assert.deepEqual(
      demoClues({ ...requests[0], endMicros: demoEnd(first.ms * 1000) }),
      demoClues(requests[0]),
    );
  });

  test('are left out where they would be most of the events', () => {
    assert.deepEqual(demoClues({ ...requests[0], count: 499 }), []);
  });

  test('are those of docs/tour.md: its requests, and its answers line by line', () => {
    const tour = readFileSync('docs/tour.md', 'utf8');
    for (const { query } of requests.flatMap(demoClues)) {
      const filters = Object.entries(query).map(([name, value]) => `&${name}=${value}`);
      assert.ok(tour.includes(`"$EXPORT${filters.join('')}"`), filters.join(''));
    }
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const known = new Set(
      companies
        .flat()
        .map(({ message, code, text }) =>
          [message.timestamp, activityTitles.get(code) ?? '', text].map(quoted).join(','),
        ),
    );
    const answers = tour.split('\n').filter((line) => line.startsWith('"20'));
    assert.ok(answers.length > 30);
    for (const answer of answers) assert.ok(known.has(answer), answer);
  });
});

test('the staff: sixty people and twenty-four, an address each, every role', () => {
  for (const [profile, size] of [
    [acme, 60],
    [globex, 24],
  ] as const) {
    const users = demoStaff(profile, profile.slug);
    assert.equal(users.length, size);
    assert.equal(new Set(users.map(({ email }) => email)).size, size);
    for (const { email } of users) assert.match(email, /^[a-z.-]+@(acme|globex)\.example$/);
    assert.deepEqual(new Set(users.map(({ role }) => role)), new Set(['admin', 'auditor', 'member']));
  }
});
