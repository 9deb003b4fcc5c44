import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent, Page } from '../support/http.ts';
import { createTenant, flushMs, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { rounds } from '../support/rounds.ts';

/** Microseconds of the first of the events, which lie one second apart, and after those the organization begins with. */
const base = Date.UTC(2124, 0, 1) * 1000;
const count = 1100;
/** Events of the organization in all, with those it begins with. */
let all = 0;
/** How many of them lie before `base`. */
let earlier = 0;
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
  earlier = all - count;
});

/** Numbers of the test's own events on a page; those that the organization begins with have none. */
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

  test('nothing matches: [] and a total of 0', async () => {
    const page = await tenant.page({ actor: 'nobody@nowhere.example' });
    assert.deepEqual(page, { data: [], meta: { total: 0, limit: 50, offset: 0 } });
    assert.deepEqual(await other.page({ startTime: iso(0) }), {
      data: [],
      meta: { total: 0, limit: 50, offset: 0 },
    });
  });

  test('total counts all matches, whatever the page', async () => {
    for (const query of ['limit=1', 'limit=1000', 'offset=1099', 'offset=5000', 'limit=3&offset=1098']) {
      assert.equal(await total(query), all, query);
    }
  });
});

describe('limit', () => {
  // `test/read/filter.test.ts` has every spelling.
  const cases: Record<string, number> = {
    '1': 1,
    '1000': 1000,
    '1001': 1000,
    ['9'.repeat(400)]: 1000,
    '007': 7,
    '0': 50,
    '-1': 50,
    '1e2': 50,
    '٣': 50,
    '5\u0000': 50,
  };
  for (const [given, effective] of Object.entries(cases)) {
    test(`${JSON.stringify(given.slice(0, 40))} becomes ${effective}`, async () => {
      const page = await tenant.page(`limit=${encoded(given)}`);
      assert.equal(page.meta.limit, effective);
      assert.equal(page.data.length, effective);
      assert.equal(page.meta.offset, 0);
    });
  }
});

describe('offset', () => {
  const cases: Record<string, number> = {
    '0010': 10,
    '1099': 1099,
    '1100': 1100,
    '9007199254740991': 9_007_199_254_740_991,
    '9007199254740992': 0,
    '-1': 0,
    '10.5': 0,
  };
  for (const [given, effective] of Object.entries(cases)) {
    test(`${JSON.stringify(given)} becomes ${effective}`, async () => {
      const page = await tenant.page(`limit=10&offset=${encoded(given)}`);
      assert.equal(page.meta.offset, effective);
      assert.equal(page.meta.limit, 10);
      assert.equal(page.meta.total, all);
      const expected = Array.from({ length: 10 }, (_, n) => count - 1 - effective - n).filter((n) => n >= 0);
      assert.deepEqual(numbers(page), expected);
    });
  }
});

describe('order and paging', () => {
  test('newest first', async () => {
    const page = await tenant.page('limit=1000');
    assert.deepEqual(
      numbers(page),
      Array.from({ length: 1000 }, (_, n) => count - 1 - n),
    );
  });

  test('walking by the number of events received meets each event once and ends as the rule says', async () => {
    for (const limit of [1000, 300, 37]) {
      const seen: unknown[] = [];
      for (let offset = 0; ; ) {
        const page = await tenant.page({ limit: String(limit), offset: String(offset) });
        seen.push(...numbers(page));
        assert.equal(page.meta.total, all);
        assert.equal(page.meta.offset, offset);
        assert.ok(page.data.length > 0);
        offset += page.data.length;
        if (offset >= page.meta.total) break;
      }
      assert.deepEqual(
        seen,
        Array.from({ length: count }, (_, n) => count - 1 - n),
      );
    }
  });

  test('while events arrive, a page and its total tell the same story: clients page by the two', async () => {
    const arriving = randomUUID();
    const done = new AbortController();
    const writer = async () => {
      while (!done.signal.aborted) {
        await other.record([sourceEvent({ flow_id: arriving }), sourceEvent({ flow_id: arriving })]);
        // More do not reach the engine more often.
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

  test('equal times: later ingested first, across requests and inside one, and stable over pages', async () => {
    const tie = randomUUID();
    for (let batch = 0; batch < 3; batch++) {
      await other.record(
        Array.from({ length: 20 }, (_, n) => sourceEvent({ flow_id: tie, extra: { n: batch * 20 + n } })),
      );
    }
    await other.settled(60, { flowId: tie });
    const seen: unknown[] = [];
    for (let offset = 0; offset < 60; offset += 7) {
      seen.push(...numbers(await other.page({ flowId: tie, limit: '7', offset: String(offset) })));
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 60 }, (_, n) => 59 - n),
    );
  });
});

describe('startTime and endTime', () => {
  test('both ends belong to the range, to the microsecond', async () => {
    assert.equal(await total({ startTime: iso(10), endTime: iso(20) }), 11);
    assert.equal(await total({ startTime: iso(10, '.000001'), endTime: iso(20) }), 10);
    assert.equal(await total({ startTime: iso(10), endTime: iso(19, '.999999') }), 10);
    assert.equal(await total({ startTime: iso(10), endTime: iso(10) }), 1);
    assert.equal(await total({ startTime: iso(10, '.000001'), endTime: iso(10, '.999999') }), 0);
    assert.deepEqual(numbers(await tenant.page({ startTime: iso(1098) })), [1099, 1098]);
    assert.deepEqual(numbers(await tenant.page({ endTime: iso(1) })), [1, 0]);
  });

  test('fraction digits beyond microseconds are cut, at both ends', async () => {
    assert.equal(await total({ startTime: iso(10, '.000000999'), endTime: iso(20) }), 11);
    assert.equal(await total({ startTime: iso(10), endTime: iso(19, '.999999999') }), 10);
    assert.equal(await total({ startTime: iso(10, '.000000000') }), count - 10);
  });

  test('the end before the start: nothing', async () => {
    assert.equal(await total({ startTime: iso(20), endTime: iso(10) }), 0);
  });

  test('offsets name the same instant', async () => {
    for (const text of [
      '2124-01-01T02:00:10+02:00',
      '2123-12-31T18:30:10-05:30',
      '2124-01-01T00:00:10+00:00',
    ]) {
      assert.equal(await total({ startTime: text }), count - 10, text);
    }
  });

  test('a + that arrived as a space is the sign of the offset', async () => {
    assert.equal(await total('startTime=2124-01-01T02:00:10+02:00'), count - 10);
    assert.equal(await total('startTime=2124-01-01T02:00:10%2002:00'), count - 10);
    assert.equal(await total('endTime=2124-01-01T02:00:10+02:00'), 11 + earlier);
  });

  const invalid = ['', 'yesterday', '2124-02-30T00:00:00Z', "2124-01-01T00:00:20Z' OR 1=1 --", 'null'];
  for (const text of invalid) {
    test(`${JSON.stringify(text)} is ignored, each for itself`, async () => {
      assert.equal(await total({ startTime: text }), all);
      assert.equal(await total({ endTime: text }), all);
      assert.equal(await total({ startTime: text, endTime: iso(10) }), 11 + earlier);
      assert.equal(await total({ startTime: iso(10), endTime: text }), count - 10);
    });
  }
});

describe('flowId', () => {
  test('one flow, in any case', async () => {
    for (const text of [flow, flow.toUpperCase()])
      assert.deepEqual(numbers(await tenant.page({ flowId: text })), [7]);
  });

  test('a flow that nothing belongs to: nothing, and that goes for the nil UUID as well', async () => {
    assert.equal(await total({ flowId: randomUUID() }), 0);
    assert.equal(await total({ flowId: '00000000-0000-0000-0000-000000000000' }), 0);
    assert.equal(await total({ flowId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }), 0);
  });

  test('anything but a UUID is ignored', async () => {
    for (const text of ['', 'x', flow.replaceAll('-', ''), `${flow}0`, ` ${flow}`, "'"]) {
      assert.equal(await total({ flowId: text }), all, text);
      assert.equal(await total({ flowId: text, actor: 'ana@acme.example' }), 1, text);
    }
  });
});

describe('orgId', () => {
  test("the key's own organization changes nothing, any other gives no events", async () => {
    assert.equal(await total({ orgId: tenant.organization.id }), all);
    assert.equal(await total({ orgId: tenant.organization.slug }), all);
    assert.equal(await total({ orgId: other.organization.id }), 0);
    assert.equal(await total({ orgId: other.organization.slug }), 0);
    assert.equal(await total({ orgId: randomUUID() }), 0);
    assert.equal(await total({ orgId: 'nonsense' }), 0);
    assert.equal(await total({ orgId: '' }), all);
  });
});

describe('all parameters', () => {
  test('filters combine', async () => {
    assert.equal(
      await total({ actor: 'ana@acme.example', flowId: flow, startTime: iso(7), endTime: iso(7) }),
      1,
    );
    assert.equal(await total({ actor: 'ana@acme.example', flowId: flow, startTime: iso(8) }), 0);
    assert.equal(await total({ actor: 'ana@acme.example', flowId: randomUUID() }), 0);
    assert.equal(await total({ actor: 'ana@acme.example', fileName: 'x' }), 0);
    assert.equal(await total({ actor: 'ana@acme.example', orgId: other.organization.id }), 0);
  });

  test('an empty value is a filter not given', async () => {
    const names = [
      'startTime',
      'endTime',
      'actor',
      'fileName',
      'flowId',
      'userId',
      'fileHash',
      'orgId',
      'limit',
      'offset',
    ];
    for (const name of names) {
      assert.deepEqual((await tenant.page(`${name}=`)).meta, { total: all, limit: 50, offset: 0 }, name);
      assert.deepEqual((await tenant.page(name)).meta, { total: all, limit: 50, offset: 0 }, name);
    }
    assert.equal(await total(names.map((name) => `${name}=`).join('&')), all);
  });

  test('of a repeated parameter the first one counts', async () => {
    assert.equal((await tenant.page('limit=5&limit=7')).meta.limit, 5);
    assert.equal((await tenant.page('limit=x&limit=7')).meta.limit, 50);
    assert.equal((await tenant.page('offset=5&offset=7')).meta.offset, 5);
    assert.equal(await total(`flowId=${flow}&flowId=${randomUUID()}`), 1);
    assert.equal(await total(`flowId=${randomUUID()}&flowId=${flow}`), 0);
    assert.equal(await total('actor=ana%40acme.example&actor=x'), 1);
    assert.equal(await total('actor=x&actor=ana%40acme.example'), 0);
    assert.equal(await total(`startTime=${iso(1090)}&startTime=${iso(0)}`), 10);
  });

  test('parameters of other names change nothing', async () => {
    assert.deepEqual((await tenant.page('page=3&cursor=x&sort=asc&query=%27&x[]=1&=1&&')).meta, {
      total: all,
      limit: 50,
      offset: 0,
    });
  });

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

/** A space may not stand in a request line; everything else goes out as written. */
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
    assert.equal(await ignored(`?${encoded('a, b\r\nX: ü')}=1`), encoded('a, b\r\nX: ü'));
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
