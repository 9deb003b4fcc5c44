import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent, Page } from '../support/http.ts';
import { createTenant, flushMs, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { rounds } from '../support/rounds.ts';

/** Microseconds of the first event. Events are one second apart, after those of making the organization. */
const base = Date.UTC(2124, 0, 1) * 1000;
const count = 1100;
/** Number of all events, with those of making the organization. */
let all = 0;
const flow = randomUUID();
let server: SharedServer;
let tenant: Tenant;
let other: Tenant;

before(async () => {
  server = await sharedServer();
  [tenant, other] = await Promise.all([createTenant(server, 'params'), createTenant(server, 'params-2')]);
  await tenant.record(
    Array.from({ length: count }, (_, n) =>
      sourceEvent({
        timestamp: base + n * 1_000_000,
        extra: { n },
        ...(n === 7 ? { flow_id: flow, actor: 'Ana@Acme.example' } : {}),
      }),
    ),
  );
  all = (await tenant.settled(count)).meta.total;
});

/** Numbers of the test's own events on a page. */
const numbers = (page: Page) =>
  page.data.map((event: AuditEvent) => event.extra_map?.['n']).filter((n) => n !== undefined);
const iso = (n: number, rest = '') =>
  new Date((base + n * 1_000_000) / 1000).toISOString().replace('.000Z', `${rest}Z`);
const total = async (query: string | Record<string, string>) => (await tenant.page(query)).meta.total;
const encoded = (text: string) => encodeURIComponent(text);

describe('the envelope', () => {
  test('data and meta, nothing else', async () => {
    const answer = await tenant.get();
    assert.match(String(answer.headers['content-type']), /^application\/json\b/);
    const page = JSON.parse(answer.text);
    assert.deepEqual(Object.keys(page).sort(), ['data', 'meta']);
    assert.deepEqual(page.meta, { total: all, limit: 50, offset: 0 });
    assert.equal(page.data.length, 50);
  });
});

// `audit-filters-property.test.ts` tests pages and filters; `test/read/filter.test.ts` invalid ones.
describe('paging', () => {
  test('while events arrive, a page and its total agree: clients page by both', async () => {
    const arriving = randomUUID();
    const done = new AbortController();
    const writer = async () => {
      while (!done.signal.aborted) {
        await other.record([sourceEvent({ flow_id: arriving }), sourceEvent({ flow_id: arriving })]);
        // More reads do not reach the engine sooner.
        await sleep(flushMs / 2);
      }
    };
    const writing = Promise.all([writer(), writer()]);
    const contradictions: string[] = [];
    for (let n = rounds(50, 500); n > 0; n--) {
      const { data, meta } = await other.page({ flowId: arriving, limit: '1000' });
      const expected = Math.min(meta.limit, meta.total);
      if (data.length !== expected)
        contradictions.push(`${data.length} events on the page, ${expected} by the total`);
    }
    done.abort();
    await writing;
    assert.deepEqual(contradictions, []);
  });
});

describe('all parameters', () => {
  test('no query, however odd, yields anything but a page', async () => {
    const odd = [
      'actor=%zz',
      'q=%00',
      'q=%5C%22%28%5B%2A%3F%7B%24',
      'q=%ff%fe%F0%9F%8E%89%E2%80%AE',
      'actor.in=%00,%27,%5C,%5B,%09',
      'fileName.not=%27%2C%22&fileName.in=%5C%27',
      'ip.in=::/0,1.2.3.4&ip.not=10.0.0.0/8,::1',
      'actor=%',
      'actor=%ff%fe',
      'actor=%00',
      'actor=%ed%a0%80',
      'fileName=%F0%9F%8E',
      "actor=' OR 1=1 --",
      'actor=\\',
      "actor=\\'",
      'actor={x:String}',
      'actor=%25',
      'actor=%0a%0d%09',
      `actor=${'a'.repeat(4000)}`,
      `q=${'a'.repeat(4000)}`,
      // Upper case makes three characters of this one.
      `q=${encoded('ΐ'.repeat(255))}`,
      `fileName=${encoded('日本'.repeat(300))}`,
      '?',
      '&&&',
      '=',
      '%',
      'limit[]=1',
      'startTime=%00',
      'offset=%ff',
      'userId=%00%01',
      'fileHash=%c3%28',
      `orgId=${encoded("'; DROP TABLE events")}`,
    ];
    for (const query of odd) {
      const page = await tenant.page(encodeSpaces(query));
      assert.ok(page.meta.total === 0 || page.meta.total === all, query);
    }
    assert.equal(await total(''), all);
  });
});

/** A space cannot stand in a request line; other characters are sent unchanged. */
function encodeSpaces(query: string): string {
  return query.replaceAll(' ', '%20');
}

describe('headers of pages', () => {
  const headersOf = async (query: string) => {
    const { headers } = await tenant.get(query);
    const links = [...String(headers['link']).matchAll(/<([^>]*)>; rel="(\w+)"/g)];
    const offsets = links.map(([, target = '', relation = '']) => {
      const { pathname, searchParams } = new URL(target, server.url);
      assert.equal(pathname, '/api/v1/audit');
      const offset = Number(searchParams.get('offset'));
      searchParams.delete('offset');
      return [relation, { offset, rest: searchParams.toString() }] as const;
    });
    return { ignored: headers['ignored-parameters'], links: Object.fromEntries(offsets) };
  };

  test('`Ignored-Parameters` names what had no effect, safely and not without end', async () => {
    const ignored = async (query: string) => (await headersOf(query)).ignored;
    assert.equal(await ignored('?limit=3&actor=&offset=0&severity=high&severity=x'), undefined);
    assert.equal(
      await ignored('?flowid=1&limit=0&startTime=now&flowId=x&activity.in=1,x'),
      'flowid, limit, startTime, flowId, activity.in',
    );
    // A date alone is not a time, and a page has at most 1000 events.
    assert.equal(await ignored('?startTime=2026-11-27&limit=1001'), 'startTime, limit');
    assert.equal(await ignored('?limit=1000'), undefined);
    assert.equal(await ignored(`?${encoded('a, b\r\nX: ü')}=1`), encoded('a, b\r\nX: ü'));
    assert.deepEqual([await ignored('?=1'), await ignored('?=1&flowid=1')], [undefined, 'flowid']);
    const many = Array.from({ length: 200 }, (_, n) => `name${n}=1`).join('&');
    const long = `${encoded('é'.repeat(60))}=1`;
    assert.ok(String(await ignored(`?${many}`)).length <= 1000);
    assert.match(String(await ignored(`?${long}`)), /^(?:%C3%A9){16}(?:%C3)?$/);
  });

  test('`Link` has the other pages, with the other parameters', async () => {
    const { links } = await headersOf(
      `?limit=500&offset=100&startTime=${encoded(iso(0))}&actor.not=a%252Cb%26`,
    );
    const rest = new URLSearchParams({ limit: '500', startTime: iso(0), 'actor.not': 'a%2Cb&' }).toString();
    assert.deepEqual(links, {
      next: { offset: 600, rest },
      prev: { offset: 0, rest },
      first: { offset: 0, rest },
      last: { offset: 600, rest },
    });
    const none = await headersOf('?actor=nobody');
    assert.deepEqual(Object.keys(none.links).sort(), ['first', 'last']);
    assert.equal((await tenant.get(`?actor=${'a'.repeat(15_000)}`)).headers['link'], undefined);
    const walked: unknown[] = [];
    for (let query: string | undefined = `?limit=300&startTime=${encoded(iso(0))}`; query !== undefined; ) {
      const answer = await tenant.get(query);
      walked.push(...numbers(JSON.parse(answer.text) as Page));
      query = /<[^>]*(\?[^>]*)>; rel="next"/.exec(String(answer.headers['link']))?.[1];
    }
    assert.equal(new Set(walked).size, count);
    assert.equal(walked.length, count);
  });
});
