import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { parseRfc3339Micros } from '../../src/base/time/timestamp.ts';
import type { AuditFilter } from '../../src/read/filter.ts';
import { createPageReader } from '../../src/read/page.ts';
import { search } from '../../src/read/search.ts';
import { createSourceEventsReader } from '../../src/read/source-events.ts';
import { replaceEvents } from '../../src/storage/replaced-events.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { createRecorder, newestFirst, type Recorded } from './support.ts';

const never = new AbortController().signal;
const start = 1_790_000_000_000_000;
const envelope = { head: '{', tail: '}}' };
const organization = randomUUID();
let engine: SharedEngine;
let rows: Recorded[];

before(async () => {
  engine = await sharedEngine();
  // Some instants have more events than a slice.
  const events = Array.from({ length: 200 }, (_, n) => ({
    message: {
      action: 1,
      timestamp: start + Math.floor(n / 7) * (n < 100 ? 1 : 0),
      actor: n % 3 === 0 ? 'Ünal@x.test' : 'bo@x.test',
    },
  }));
  const record = createRecorder(engine.storage);
  rows = (await record(organization, events)).toSorted(newestFirst);
});

describe('a search for words', () => {
  it('that reaches its time limit continues from there, without gaps or repeats', async () => {
    const expected = rows.filter(({ actorEmail }) => actorEmail === 'ünal@x.test').map(({ seq }) => seq);
    const found: bigint[] = [];
    let searches = 0;
    let filter: AuditFilter = { words: ['ÜNAL'.toLowerCase()] };
    for (;;) {
      const page = { filter, offset: 0, limit: 1000 };
      const { positions, total, searchedBackTo } = await search(engine.storage, organization, page, never, {
        ms: 0,
        firstRows: 20,
      });
      assert.equal(positions.length, total);
      found.push(...positions.map(([, seq]) => BigInt(seq)));
      searches++;
      if (searchedBackTo === undefined) break;
      const toMicros = parseRfc3339Micros(searchedBackTo);
      assert.ok(toMicros !== undefined);
      filter = { ...filter, toMicros };
    }
    assert.deepEqual(found, expected);
    assert.ok(searches > 3, `${searches} searches`);
  });

  it('that gets through is in slices the same as at once, for every page', async () => {
    const filter = { words: ['bo@x', 'TEST'.toLowerCase()] };
    const all = rows.filter(({ actorEmail }) => actorEmail === 'bo@x.test').map(({ seq }) => String(seq));
    for (const [offset, limit] of [
      [0, 1000],
      [0, 7],
      [5, 30],
      [all.length - 1, 5],
      [1000, 5],
    ] as const) {
      const page = { filter, offset, limit };
      const found = await search(engine.storage, organization, page, never, { ms: 60_000, firstRows: 10 });
      assert.equal(found.total, all.length);
      assert.equal(found.searchedBackTo, undefined);
      assert.deepEqual(
        found.positions.map(([, seq]) => seq),
        all.slice(offset, offset + limit),
      );
    }
  });

  it('finds words however their characters are written in JSON', async () => {
    const org = randomUUID();
    const record = createRecorder(engine.storage);
    const texts = [
      String.raw`caf\u00c9 noir`,
      'CAFÉ noir',
      String.raw`a\/b \"q\"`,
      String.raw`\ud83c\udf89`,
      String.raw`c:\\dir`,
      String.raw`\u0041BC`,
      'İzmir ΟΔΟΣ',
      'οδος',
      String.raw`two\nlines`,
    ];
    await record(
      org,
      texts.map((text) => `{"message":{"timestamp":${start},"action":1},"msg":"${text}"}`),
    );
    const reader = createPageReader(engine.storage, envelope, () => 0);
    const totals: Record<string, number> = {};
    for (const word of [
      'café',
      'noir',
      'a/b',
      '"q"',
      '🎉',
      'c:\\dir',
      'abc',
      'İZmir',
      'ΟΔΟΣ',
      'οδος',
      'nothing',
      'café noir',
      'noir café',
      'two\nlines',
    ]) {
      const body = await reader(org, { filter: { words: [word] }, offset: 0, limit: 10 }, never);
      totals[word] = body.total;
      if ('bytes' in body) body.release();
    }
    assert.deepEqual(totals, {
      café: 2,
      noir: 2,
      'a/b': 1,
      '"q"': 1,
      '🎉': 1,
      'c:\\dir': 1,
      abc: 1,
      // Their lower case has several characters, or depends on the position in a word.
      İZmir: 1,
      ΟΔΟΣ: 2,
      οδος: 2,
      nothing: 0,
      'café noir': 2,
      'noir café': 0,
      'two\nlines': 1,
    });
    const without = async (notWords: readonly string[]) => {
      const body = await reader(org, { filter: { words: [], notWords }, offset: 0, limit: 10 }, never);
      if ('bytes' in body) body.release();
      return body.total;
    };
    assert.deepEqual([await without(['café noir']), await without(['οδος', 'a/b'])], [7, 6]);
  });

  it('finds values alone: no names of members, and nothing that is the same in every event', async () => {
    const org = randomUUID();
    const record = createRecorder(engine.storage);
    await record(org, [{ message: { timestamp: start, action: 1, extra: { name: { user: 'x' } } } }]);
    const reader = createPageReader(engine.storage, envelope, () => 0);
    const totalOf = async (text: string): Promise<number> => {
      const body = await reader(org, { filter: { words: [text] }, offset: 0, limit: 1 }, never);
      if ('bytes' in body) body.release();
      return body.total;
    };
    for (const name of ['service', 'severity', 'app_name', 'extra_map', 'enrichments', 'time', 'user'])
      assert.equal(await totalOf(name), 0, name);
    await record(org, [{ message: { timestamp: start, action: 1, extra: { app_name: 'service' } } }]);
    assert.equal(await totalOf('service'), 1);
  });

  it('is of source events, too', async () => {
    const reader = createSourceEventsReader(engine.storage, envelope, () => 0);
    const body = await reader(organization, { filter: { words: ['bo@x'] }, offset: 1, limit: 2 }, never);
    assert.ok('bytes' in body);
    const { data, meta } = JSON.parse(Buffer.from(body.bytes).toString()) as {
      data: { seq: string }[];
      meta: unknown;
    };
    body.release();
    const expected = rows.filter(({ actorEmail }) => actorEmail === 'bo@x.test').slice(1, 3);
    assert.deepEqual(
      data.map(({ seq }) => seq),
      expected.map(({ seq }) => String(seq)),
    );
    assert.deepEqual(meta, { limit: 2, offset: 1 });
  });
});

describe('the address of an event', () => {
  it('is that which is shown, also where `extra` has a member of the same name, and after a change', async () => {
    const org = randomUUID();
    const record = createRecorder(engine.storage);
    const sent = [
      { message: { timestamp: start, action: 1, remote: { ip: '10.0.0.1' } } },
      { message: { timestamp: start, action: 1, extra: { src_endpoint: { ip: '10.0.0.1' } } } },
      { message: { timestamp: start, action: 1, extra: { a: ',"src_endpoint":{"ip":"10.0.0.1"' } } },
      {
        message: {
          timestamp: start,
          action: 1,
          remote: { port: 5 },
          extra: { src_endpoint: { ip: '10.0.0.1' } },
        },
      },
    ];
    const [first] = await record(org, sent);
    assert.ok(first !== undefined);
    const stored = () =>
      engine.storage.rows<{ seq: string; ip: string; before: string }>(
        'SELECT seq, toString(src_ip) AS ip, lower(hex(event_hash)) AS before FROM events WHERE org = {org:UUID} ORDER BY seq',
        { org },
      );
    const found = await stored();
    assert.deepEqual(
      found.map(({ ip }) => ip),
      ['::ffff:10.0.0.1', '::', '::', '::'],
    );
    const changed = {
      ...first,
      fileHash: [],
      before: found[0]?.before ?? '',
      ocsf: '"time":1,"src_endpoint":{"ip":"2001:db8::7"},"metadata":{',
    };
    await replaceEvents(engine.storage, org, [changed], { waits: true });
    assert.equal((await stored())[0]?.ip, '2001:db8::7');
  });
});
