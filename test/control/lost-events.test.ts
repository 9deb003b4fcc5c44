import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { lostEvents, storedEventsLost } from '../../src/control/lost-events.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';

interface Told {
  readonly level: string;
  readonly message: {
    readonly action: number;
    readonly org: string;
    readonly extra: Readonly<Record<string, unknown>>;
  };
}

const now = 1_790_000_000_000_001;
const organizations = ['0b7f2a50-0000-4000-8000-000000000001', '0b7f2a50-0000-4000-8000-000000000002'];
const loss = {
  loss: '0b7f2a50-0000-4000-8000-000000000009',
  events: 12,
  organizations,
  operator: 'root@host',
  now,
};

test('each existing organization gets an event of its own lost events', () => {
  const share = (organizationId: string, events: number) => ({
    organizationId,
    events,
    fromMicros: 1_700_000_000_000_000,
    toMicros: 1_700_000_100_000_000,
  });
  const gone = '0b7f2a50-0000-4000-8000-000000000003';
  const shares = [share(organizations[1] ?? '', 5), share(gone, 7)];
  const told = lostEvents({ ...loss, shares }) as Told[];
  assert.equal(activityTitles.get(storedEventsLost), 'Stored events lost');
  assert.deepEqual(
    told.map(({ level, message: { action, org, extra } }) => ({ level, action, org, extra })),
    [
      {
        level: 'ERROR',
        action: storedEventsLost,
        org: organizations[1],
        extra: {
          loss: loss.loss,
          events: 5,
          recorded_from: '2023-11-14T22:13:20.000000Z',
          recorded_to: '2023-11-14T22:15:00.000000Z',
        },
      },
    ],
  );
});

test('if the owners are unknown, each may have lost up to all', () => {
  const told = lostEvents({ ...loss, shares: undefined }) as Told[];
  assert.deepEqual(
    told.map(({ message: { org, extra } }) => [org, extra]),
    organizations.map((org) => [org, { loss: loss.loss, events_max: 12 }]),
  );
});
