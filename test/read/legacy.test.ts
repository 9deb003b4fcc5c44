import { strict as assert } from 'node:assert';
import { afterEach, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import { organizationEventsHandler } from '../../src/http/routes/events.ts';
import { createLegacyReader, readLegacyRequest } from '../../src/read/legacy.ts';
import { QueryParameters } from '../../src/read/parameters.ts';
import { startTestServer, type TestServer } from '../http/support.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { call } from '../support/http.ts';
import { rounds } from '../support/rounds.ts';
import { createCaller, createRecorder, newestFirst, type Recorded, type Recorder } from './support.ts';

const path = '/api/v1/dashboard/organization/get-events-in-org';

describe('source events of an organization', () => {
  let engine: SharedEngine;
  let record: Recorder;
  before(async () => {
    engine = await sharedEngine();
    record = createRecorder(engine.storage);
  });

  const servers: TestServer[] = [];
  const serve = async (caller = createCaller(), storage = engine.storage): Promise<TestServer> => {
    const handler = organizationEventsHandler(createLegacyReader(storage));
    const route = { method: 'GET' as const, path, name: 'legacy' };
    const server = await startTestServer([{ ...route, handler: (context) => handler(context, caller) }]);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const asking = async (server: TestServer, query = ''): Promise<string> => {
    const answer = await call(`${server.url}${path}${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.text;
  };
  const framed = (rows: readonly Recorded[]): string =>
    `{"data":[${rows.map(({ source }) => source).join(',\n')}]}\n`;

  it('come back as they were sent, byte for byte: keys, order, digits, unknown fields, escapes', async () => {
    const caller = createCaller();
    const server = await serve(caller);
    const sent = [
      String.raw`{"time":"2024-01-02T03:04:05.678901234+02:00","level":"TRACE","msg":"h\u00e9 \"\\\/","message":{"timestamp":1704164645678901,"actor":"a@b.c","action":{"code":6300,"title":""},"target":null,"result":{"title":"t","description":"d","code":200},"remote":{"ip":"::1","port":0},"sender":{"file":"é\t","email":"x@y"},"extra":{"big":123456789012345678901234567890,"e":1E+2,"d":1.50,"":[{}],"n":null},"org":"","more":[1,2,{"x":-0.0}]},"zz":true}`,
      String.raw`{"zz":{"a":[]},"message":{"action":1,"timestamp":0,"extra":{"password":"[redacted]"}}}`,
      String.raw`{"message":{"action":-9007199254740991,"timestamp":"2200-01-01T00:00:00Z","target":"${'𝄞'.repeat(2000)}"}}`,
    ];
    await record(caller.organization.id, sent);
    await record(createCaller().organization.id, ['{"message":{"action":1,"timestamp":0}}']);
    const text = await asking(server);
    assert.equal(text, `{"data":[${[sent[2], sent[0], sent[1]].join(',\n')}]}\n`);
    assert.equal((JSON.parse(text) as { data: unknown[] }).data.length, 3);
  });

  it('are an empty array when there are none', async () => {
    const server = await serve();
    assert.equal(await asking(server), '{"data":[]}\n');
  });

  it('are newest first, last recorded first among equals, and bounded as asked', async () => {
    const caller = createCaller();
    const server = await serve(caller);
    const events = Array.from({ length: 300 }, (_, n) => ({
      n,
      message: { action: 1, timestamp: 1_700_000_000_000_000 + Math.floor(n / 3) * 200_000_000_000 },
    }));
    const rows = [
      ...(await record(caller.organization.id, events)),
      ...(await record(caller.organization.id, events)),
    ].sort(newestFirst);
    const times = fc.option(fc.constantFrom(...rows.map(({ timeMicros }) => timeMicros)), { nil: undefined });
    const counts = fc.option(fc.oneof(fc.integer({ min: 0, max: 700 }), fc.constant('-1')), {
      nil: undefined,
    });
    await fc.assert(
      fc.asyncProperty(times, times, counts, counts, async (from, to, limit, offset) => {
        const query = new URLSearchParams();
        if (from !== undefined) query.set('startTime', formatMicros(from));
        if (to !== undefined) query.set('endTime', formatMicros(to));
        if (limit !== undefined) query.set('limit', String(limit));
        if (offset !== undefined) query.set('offset', String(offset));
        const first = typeof offset === 'number' ? offset : 0;
        const many = typeof limit === 'number' && limit > 0 ? limit : Infinity;
        const expected = rows
          .filter(({ timeMicros }) => timeMicros >= (from ?? 0) && timeMicros <= (to ?? Infinity))
          .slice(first, first + many);
        assert.equal(await asking(server, `?${query.toString()}`), framed(expected));
      }),
      { numRuns: rounds(8, 20) },
    );
  });
});

describe('parameters of get-events-in-org', () => {
  const read = (query: string) => {
    return readLegacyRequest(new QueryParameters(new URLSearchParams(query)));
  };

  it('mean everything when they are absent or invalid', () => {
    const everything = { filter: {}, limit: undefined, offset: 0 };
    for (const query of [
      '',
      'limit=&offset=',
      'limit=0',
      'limit=-5&offset=-1',
      'limit=1e3',
      'startTime=now',
    ]) {
      assert.deepEqual(read(query), everything, query);
    }
  });

  it('are otherwise used as given, at any size', () => {
    assert.deepEqual(read('limit=5000&offset=7'), { filter: {}, limit: 5000, offset: 7 });
    assert.equal(read(`limit=${'9'.repeat(30)}`).limit, Number.MAX_SAFE_INTEGER);
  });

  it('hold no filter but the time', () => {
    const request = read('startTime=1970-01-01T00:00:01Z&endTime=1970-01-01T00:00:02Z&actor=a@b.c&flowId=x');
    assert.deepEqual(request.filter, { fromMicros: 1_000_000, toMicros: 2_000_000 });
  });
});
