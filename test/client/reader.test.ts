import { strict as assert } from 'node:assert';
import { after, before, beforeEach, describe, test } from 'node:test';
import { AuditlogError, createClient, isTransient } from '../../src/client/client.ts';
import { parseRetryAfter, retryDelayMs } from '../../src/client/retry.ts';
import { type Remote, remoteKey, reply, startRemote } from './remote.ts';

const start = 1_700_000_000_000_000;
let remote: Remote;
before(async () => {
  const events = Array.from({ length: 25 }, (_, n) => ({
    // With ties, and another order of recording than of time.
    time: start + ((n * 7) % 5),
    more: `,"extra_map":{"n":${n},"huge":12345678901234567890.10,"text":"} ] \\" \\\\"}`,
  }));
  remote = await startRemote({ events });
});
after(() => remote.close());
beforeEach(() => {
  remote.fault = undefined;
  remote.requests.length = 0;
});

const quick = { delayMsMin: 5, delayMsMax: 20 };
const client = (more: object = {}) =>
  createClient({ url: remote.url, apiKey: remoteKey, readRetry: quick, ...more });
const placeOf = (event: { readonly extra_map?: Readonly<Record<string, unknown>> }) => event.extra_map?.['n'];

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function failure(work: Promise<unknown>): Promise<AuditlogError> {
  const error: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(error instanceof AuditlogError, String(error));
  assert.ok(!`${error.message} ${error.stack}`.includes(remoteKey));
  return error;
}

describe('reading pages', () => {
  test('reads all pages by the number of received events', async () => {
    const places = (await collect(client().events({ pageSize: 10 }))).map(placeOf);
    assert.equal(new Set(places).size, 25);
    assert.deepEqual(
      remote.requests.map(({ query }) => [query.get('limit'), query.get('offset')]),
      [
        ['10', '0'],
        ['10', '10'],
        ['10', '20'],
      ],
    );
  });

  test('continues a search that came less far than the page before, without gaps or repeats', async () => {
    const all = Array.from({ length: 25 }, (_, n) => n);
    const instant = (n: number) => `2026-01-01T00:00:${String(n).padStart(2, '0')}Z`;
    const reaches = [20, 4];
    remote.fault = ({ query }, response) => {
      const from = Number(/:(\d+)Z$/.exec(query.get('endTime') ?? instant(0))?.[1]);
      const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))];
      const end = Math.min(all.length, from + (reaches.shift() ?? all.length));
      const found = all.slice(from, end);
      const data = found.slice(offset, offset + limit).map((n) => ({ extra_map: { n } }));
      const total = found.length;
      const back = end < all.length ? { searched_back_to: instant(end) } : {};
      return reply(response, 200, { data, meta: { total, limit, offset, ...back } });
    };
    const found = await collect(client().events({ q: 'word', pageSize: 10 }));
    assert.deepEqual(found.map(placeOf), all);
  });

  test('requests smaller pages if one is too large for memory', async () => {
    const small = client({ responseBytesMax: 3000 });
    const pages = await collect(small.pages({ limit: 25 }));
    assert.equal(new Set(pages.flatMap(({ events }) => events.map(placeOf))).size, 25);
    assert.ok(pages.length > 1);
    const fed = await collect(small.feed({ follow: false, limit: 25 }));
    assert.deepEqual(
      fed.flatMap(({ events }) => events.map(placeOf)),
      Array.from({ length: 25 }, (_, n) => n),
    );
    assert.equal((await failure(collect(client({ responseBytesMax: 100 }).pages()))).code, 'too_large');
  });

  test('sends the filters and the key, and gives each event its own text with all digits', async () => {
    const page = await client().page({ startTime: '2023-01-01T00:00:00Z', actor: 'a b&c=ü', limit: 2 });
    assert.equal(page.total, 25);
    assert.deepEqual(JSON.parse(page.texts[0] ?? ''), page.events[0]);
    assert.match(page.texts[0] ?? '', /"huge":12345678901234567890\.10,/);
    assert.equal(remote.requests[0]?.query.get('actor'), 'a b&c=ü');
    assert.equal(remote.requests[0]?.headers['x-api-key'], remoteKey);
    assert.equal(remote.requests[0]?.query.has('endTime'), false);
  });

  test('fails at once where the service ignores a filter, and not for the length of a page', async () => {
    remote.fault = (_, response) => {
      response.setHeader('ignored-parameters', 'limit, startTime');
      return false;
    };
    const one = client();
    for (const read of [one.page({ startTime: '2026-11-27' }), one.feedPage({ startTime: '2026-11-27' })]) {
      const error = await failure(read);
      assert.deepEqual([error.code, isTransient(error)], ['ignored', false]);
      assert.match(error.message, /ignores it: startTime$/);
    }
    assert.equal(remote.requests.length, 2);
    assert.equal((await one.page({ limit: 5_000 })).events.length, 25);
  });

  test('repeats after 429, 500, a broken answer and one that is no JSON', async () => {
    const faults = [429, 500, 0, 1];
    remote.fault = (_, response) => {
      const status = faults.shift();
      if (status === undefined) return false;
      if (status > 1) return reply(response, status, {}, { 'retry-after': '0' });
      response.writeHead(200, { 'content-length': '100' });
      if (status === 0) response.write('{"data":[', () => response.destroy());
      else response.end('{"data":[{]}'.padEnd(100));
      return true;
    };
    assert.equal((await client().page()).events.length, 25);
    assert.equal(remote.requests.length, 5);
  });

  test('fails with the message of the service, at once if a retry would not help', async () => {
    const error = await failure(client({ apiKey: 'wrong' }).page());
    assert.deepEqual(
      [error.code, error.status, error.title, error.detail],
      ['http', 401, 'Unauthorized', 'No such key.'],
    );
    assert.equal(remote.requests.length, 1);
    remote.fault = (_, response) => reply(response, 302, {}, { location: 'http://127.0.0.1:1/' });
    assert.equal((await failure(client().page())).status, 302);
    remote.fault = (_, response) => reply(response, 500, {}, { 'retry-after': '7', 'x-request-id': 'r1' });
    const last = await failure(client({ readRetry: { giveUpAfterMs: 0 } }).page());
    assert.deepEqual([last.status, last.retryAfterMs, last.requestId], [500, 7000, 'r1']);
  });

  test('ends in time, by signal, and at answers above the bound', async () => {
    remote.fault = () => true;
    const none = { giveUpAfterMs: 0 };
    assert.equal((await failure(client({ timeoutMs: 50, readRetry: none }).page())).code, 'timeout');
    const aborted = AbortSignal.timeout(50);
    assert.equal((await failure(client().page({}, { signal: aborted }))).code, 'aborted');
    assert.equal((await failure(client().page({}, { signal: AbortSignal.abort() }))).code, 'aborted');
    remote.fault = (_, response) => reply(response, 500, {});
    const slow = client({ readRetry: { delayMsMin: 60_000, delayMsMax: 60_000, giveUpAfterMs: Infinity } });
    assert.equal((await failure(slow.page({}, { signal: AbortSignal.timeout(50) }))).code, 'aborted');
    remote.fault = undefined;
    assert.equal((await failure(client({ responseBytesMax: 1000 }).page())).code, 'too_large');
    const gone = await startRemote();
    await gone.close();
    const closed = createClient({ url: gone.url, apiKey: 'k', readRetry: none });
    assert.match((await failure(closed.page())).message, /ECONNREFUSED/);
  });
});

describe('following the feed', () => {
  test('returns pages with their cursors, and continues from each of them', async () => {
    const pages = await collect(client().feed({ follow: false, limit: 10 }));
    assert.deepEqual(
      pages.map((page) => [page.events.length, page.hasMore, page.cursor]),
      [
        [10, true, 'c10'],
        [10, true, 'c20'],
        [5, false, 'c25'],
      ],
    );
    const rest = await collect(client().feed({ follow: false, cursor: 'c20' }));
    assert.deepEqual(
      rest.flatMap(({ events }) => events.map(placeOf)),
      [20, 21, 22, 23, 24],
    );
  });

  test('waits for what comes, until its signal', async () => {
    const stop = new AbortController();
    const got: unknown[] = [];
    const following = (async () => {
      for await (const page of client().feed({ cursor: 'c25', wait: 5, signal: stop.signal })) {
        got.push(...page.events.map(placeOf));
        if (got.length === 2) stop.abort();
      }
    })();
    for (const n of [25, 26]) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      remote.events.push({ time: start, more: `,"extra_map":{"n":${n}}` });
    }
    assert.equal((await failure(following)).code, 'aborted');
    assert.deepEqual(got, [25, 26]);
    remote.events.length = 25;
  });

  test('does not ask all the time where the server does not wait', async () => {
    const stop = AbortSignal.timeout(300);
    const pages = client().feed({ cursor: 'c25', wait: 0, signal: stop });
    assert.equal((await failure(collect(pages))).code, 'aborted');
    assert.equal(remote.requests.length, 1);
  });

  test('does not ask all the time where it is to pause for longer than a timer can', async () => {
    const stop = AbortSignal.timeout(300);
    const intervalMs = 30 * 86_400_000;
    const pages = client().feed({ cursor: 'c25', intervalMs, signal: stop });
    assert.equal((await failure(collect(pages))).code, 'aborted');
    assert.equal(remote.requests.length, 1);
  });

  test('a bad cursor is 400', async () => {
    assert.equal((await failure(client().feedPage({ cursor: 'nonsense' }))).status, 400);
  });
});

test('delays are between Retry-After and one step more', () => {
  const policy = { delayMsMin: 100, delayMsMax: 1000, giveUpAfterMs: 0 };
  for (let attempt = 0; attempt < 40; attempt++) {
    const delay = retryDelayMs(policy, attempt, 50);
    assert.ok(delay >= 50 && delay <= 50 + Math.min(1000, 100 * 2 ** attempt));
  }
  assert.equal(parseRetryAfter('3', 0), 3000);
  assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 2000), 7000);
  assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:01 GMT', 2000), 0);
  assert.equal(parseRetryAfter('soon', 0), undefined);
});
