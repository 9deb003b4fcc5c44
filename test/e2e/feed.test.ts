import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { askFeed, feedPage, followFeed } from '../support/feed.ts';
import { eventually, problemOf } from '../support/http.ts';
import { withEngine } from './export-support.ts';
import { hasOwnEngine } from '../support/chosen-engine.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';

describe('the feed', () => {
  let tenant: Tenant;
  const service = keptService({ FLUSH_INTERVAL: '100ms' });
  before(async () => {
    tenant = await createTenant(service.server, 'followed');
    // An idle log takes over events of commands after its next poll.
    await eventually('the feed to have what commands have recorded', async () => {
      const { meta } = await tenant.page();
      return (await followFeed(tenant, ''))[0].length >= meta.total || undefined;
    });
  });

  const event = (flow: string, message: object = {}) => sourceEvent({ flow_id: flow, ...message });
  /** A cursor at the end of the feed. */
  const tip = async () => (await followFeed(tenant, ''))[1];
  const flowsFrom = async (cursor: string, count: number, limit = '1000') => {
    const flows: string[] = [];
    await eventually(`${count} events in the feed`, async () => {
      const [data, next] = await followFeed(tenant, cursor, limit);
      cursor = next;
      flows.push(...data.map(({ flow_id: flow }) => flow ?? ''));
      return flows.length >= count ? true : undefined;
    });
    return flows;
  };

  // A shared server has writes of other tests, which only the engine knows.
  const askless = { skip: !hasOwnEngine };
  test(
    'polls that find nothing do not ask the engine, and find what comes all the same',
    askless,
    async () => {
      // Events of commands come a moment later.
      await tenant.own();
      const queries = () =>
        withEngine(service.server, async (storage) => {
          const sql = "SELECT toFloat64(sum(value)) AS value FROM system.events WHERE event = 'Query'";
          return (await storage.rows<{ value: number }>(sql))[0]?.value ?? Number.NaN;
        });
      let cursor = await tip();
      const polls = 120;
      const before = await queries();
      const begunMs = performance.now();
      for (let n = 0; n < polls; n++) {
        const { data, meta } = await feedPage(tenant, { cursor });
        assert.deepEqual(data, []);
        // Half of them keep their cursor, like a poller that ignores empty pages.
        if (n % 2 === 0) cursor = meta.next_cursor;
      }
      const asked = (await queries()) - before;
      // Including the server's own statements each second.
      const seconds = (performance.now() - begunMs) / 1000;
      assert.ok(asked < polls / 10 + 6 * seconds, `${asked} queries for ${polls} polls in ${seconds} s`);
      const flow = randomUUID();
      await tenant.record([event(flow)]);
      assert.deepEqual(await flowsFrom(cursor, 1), [flow]);
    },
  );

  // The simulator has followers with every page size, which must see one order.
  test('returns events in the order of ingest, at any event times, page by page', async () => {
    const cursor = await tip();
    const flows = Array.from({ length: 25 }, () => randomUUID());
    const times = flows.map((_, n) => `20${String(10 + ((n * 7) % 15)).padStart(2, '0')}-01-01T00:00:00Z`);
    await tenant.record(flows.map((flow, n) => event(flow, { timestamp: times[n] })));
    assert.deepEqual(await flowsFrom(cursor, 25, '10'), flows);
    const first = await feedPage(tenant, { cursor, limit: '10' });
    assert.deepEqual([first.data.length, first.meta.has_more], [10, true]);
    // The same page again, as after a lost answer.
    const again = await feedPage(tenant, { cursor, limit: '10' });
    assert.deepEqual(
      again.data.map(({ flow_id: flow }) => flow),
      flows.slice(0, 10),
    );
    const whole = await tenant.page({ flowId: flows[3] ?? '' });
    const same = first.data[3] as unknown as { metadata: { logged_time: number } };
    const expected = whole.data[0] as unknown as { metadata: { logged_time: number } };
    same.metadata.logged_time = expected.metadata.logged_time;
    assert.deepEqual(same, expected);
  });

  test('accepts the filters of the audit endpoint, and startTime sets its beginning', async () => {
    const cursor = await tip();
    const [wanted, other, late] = [randomUUID(), randomUUID(), randomUUID()];
    const actor = { email: `${randomUUID()}@x.example` };
    await tenant.record([
      event(other, { timestamp: '2001-01-01T00:00:00Z' }),
      event(wanted, { actor, timestamp: '2190-01-01T00:00:00Z' }),
      event(late, { timestamp: '2001-01-01T00:00:00Z' }),
    ]);
    await flowsFrom(cursor, 3);
    const only = async (query: Readonly<Record<string, string>>) =>
      (await feedPage(tenant, query)).data.map(({ flow_id: flow }) => flow);
    assert.deepEqual(await only({ actor: actor.email }), [wanted]);
    assert.deepEqual(await only({ flowId: other }), [other]);
    assert.deepEqual(await only({ flowId: wanted, cursor }), [wanted]);
    assert.deepEqual(await only({ startTime: '2189-01-01T00:00:00Z' }), [wanted, late]);
    const { meta } = await feedPage(tenant, { startTime: '2189-01-01T00:00:00Z', limit: '1' });
    assert.ok(Math.abs(meta.read_through / 1000 - Date.now()) < 600_000);
    assert.ok(meta.has_more && meta.read_through <= meta.settled_through);
    assert.deepEqual(await only({ cursor: meta.next_cursor, flowId: late }), [late]);
    assert.deepEqual(await only({ orgId: randomUUID() }), []);
    assert.deepEqual(await only({ orgId: 'followed', flowId: other }), [other]);
    assert.deepEqual(await only({ flowId: 'nonsense', limit: '1', cursor }), [other]);
  });

  test('waits for events as long as it is asked to, and no longer', async () => {
    const cursor = await tip();
    const begun = performance.now();
    const empty = await feedPage(tenant, { cursor, wait: '1' });
    assert.deepEqual([empty.data, empty.meta.has_more], [[], false]);
    assert.ok(performance.now() - begun > 900);
    assert.ok(Math.abs(empty.meta.settled_through / 1000 - Date.now()) < 10_000);
    const flow = randomUUID();
    const waiting = feedPage(tenant, { cursor: empty.meta.next_cursor, wait: '30' });
    await sleep(300);
    await tenant.record([event(flow)]);
    const { data } = await waiting;
    assert.deepEqual(
      data.map(({ flow_id: id }) => id),
      [flow],
    );
    assert.ok(performance.now() - begun < 15_000);
  });

  test('refuses a cursor that is not its own, and too many that wait', async () => {
    const other = await createTenant(service.server, 'another');
    const mine = await tip();
    for (const cursor of ['x', mine.slice(1), `${mine}A`, `A${mine.slice(1)}`, '='])
      assert.match(problemOf(await askFeed(tenant, { cursor }), 400).detail, /cursor/);
    problemOf(await askFeed(other, { cursor: mine }), 400);
    // All of them: a later one would end the polls below.
    const own = await other.own();
    await eventually('its own events', async () =>
      (await followFeed(other, ''))[0].length >= own.length ? true : undefined,
    );
    const polls = await Promise.all(Array.from({ length: 20 }, () => askFeed(other, { wait: '2' })));
    // Its own events are there, so the first poll does not wait; a bounded number of others does.
    assert.ok(polls.every(({ status }) => status === 200));
    const [, end] = await followFeed(other, '');
    const many = await Promise.all(
      Array.from({ length: 20 }, () => askFeed(other, { wait: '5', cursor: end })),
    );
    assert.equal(many.filter(({ status }) => status === 200).length, 16);
    const refused = many.find(({ status }) => status !== 200);
    assert.ok(refused !== undefined);
    problemOf(refused, 429);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
  });
});
