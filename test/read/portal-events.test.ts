import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { auditHandler, sourceEventsHandler } from '../../src/http/routes/events.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { createPageReader } from '../../src/read/page.ts';
import { createSourceEventsReader } from '../../src/read/source-events.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import type { Page } from '../support/http.ts';
import { answerOf, createCaller, createRecorder } from './support.ts';

const envelope = { head: eventHead, tail: eventTail({ vendorName: 'V', productName: 'P' }) };

describe('events for the portal', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });

  it('are the page that the audit endpoint gives, of the session’s organization', async () => {
    const record = createRecorder(engine.storage);
    const handler = auditHandler(createPageReader(engine.storage, envelope, () => 77));
    const caller = createCaller();
    const other = createCaller();
    const start = 1_790_000_000_000_000;
    const event = (micros: number, actor: string) => ({
      message: { action: 1001, timestamp: start + micros, actor },
    });
    await record(caller.organization.id, [event(5, 'a@x'), event(6, 'b@x'), event(7, 'A@x')]);
    await record(other.organization.id, [event(8, 'a@x')]);
    const page = await answerOf<Page>(handler, caller, { actor: 'a@X', limit: '1', offset: '1' });
    assert.deepEqual(page.meta, { total: 2, limit: 1, offset: 1 });
    assert.deepEqual(
      page.data.map(({ time, metadata }) => [time, metadata.logged_time]),
      [[start + 5, 77]],
    );
    const foreign = await answerOf<Page>(handler, caller, { orgId: other.organization.id });
    assert.deepEqual(foreign, { data: [], meta: { total: 0, limit: 50, offset: 0 } });
  });

  it('are found by a filter with an index, and left out by any other beside it', async () => {
    const record = createRecorder(engine.storage);
    const caller = createCaller();
    const flow = 'a4f6c1de-0000-4000-8000-000000000001';
    // More than a few granules, so that the index excludes some.
    const events = Array.from({ length: 4000 }, (_, n) => ({
      message: {
        action: 1001,
        timestamp: 1_790_000_000_000_000 + n,
        actor: { email: `a${n % 400}@x.test`, id: `u${n % 400}` },
        sender: { file: `f${n % 400}`, hash: `h${n % 400}` },
        remote: { ip: '10.0.0.1' },
        ...(n % 400 === 7 && { flow_id: flow }),
      },
    }));
    await record(caller.organization.id, events);
    const handler = auditHandler(createPageReader(engine.storage, envelope, () => 77));
    const found = { actor: 'a7@x.test', userId: 'u7', fileName: 'f7', fileHash: 'h7', flowId: flow };
    const kept = {
      actor: 'a8@x.test,a9@x.test',
      userId: 'u8,u9',
      fileName: 'f8,f9',
      fileHash: 'h8,h9',
      flowId: randomUUID(),
      ip: '10.0.0.2,10.1.0.0/16',
      activity: '1,2',
      severity: 'High,Medium',
      status: 'Failure',
    };
    const others = {
      ...found,
      ip: '10.0.0.0/8',
      activity: '1001',
      severity: 'Informational',
      status: 'Success',
    };
    const pairs = Object.entries(found).flatMap(([name, value]) =>
      [[kept, 10] as const, [others, 0] as const].flatMap(([leaving, total]) =>
        Object.entries(leaving).map(([other, list]) => ({ name, value, other, list, total })),
      ),
    );
    // Every fifth of ninety pairs, with each filter and each other one, both ways.
    for (const { name, value, other, list, total } of pairs.filter((_, at) => at % rounds(5, 1) === 0)) {
      const page = await answerOf<Page>(handler, caller, { [name]: value, [`${other}.not`]: list });
      assert.equal(page.meta.total, total, `${name}=${value}&${other}.not=${list}`);
    }
  });

  it('come with what their producers sent, digit by digit', async () => {
    const record = createRecorder(engine.storage);
    const caller = createCaller();
    const time = 1_790_000_000_000_000;
    const sent = [1, 2, 3].map(
      (n) => `{"message":{"action":${n},"timestamp":${time + n},"extra":{"large":12345678901234567890${n}}}}`,
    );
    await record(caller.organization.id, sent);
    const handlers = [
      sourceEventsHandler(createSourceEventsReader(engine.storage, envelope, () => 77)),
      auditHandler(createPageReader(engine.storage, envelope, () => 77)),
    ];
    const [withSources, page] = await Promise.all(
      handlers.map((handler) => {
        return answerOf<{ data: unknown[]; meta: unknown }>(handler, caller, {
          limit: 2,
          endTime: '2030-01-01T00:00:00Z',
        });
      }),
    );
    assert.deepEqual(withSources?.meta, { limit: 2, offset: 0 });
    const pairs = withSources?.data as { event: unknown; source: unknown }[];
    assert.deepEqual(
      pairs.map(({ event }) => event),
      page?.data,
    );
    assert.deepEqual(
      pairs.map(({ source }) => source),
      sent
        .toReversed()
        .slice(0, 2)
        .map((text) => JSON.parse(text) as unknown),
    );
    const reader = createSourceEventsReader(engine.storage, envelope, () => 77);
    const body = await reader(
      caller.organization.id,
      { filter: {}, limit: 1, offset: 0 },
      new AbortController().signal,
    );
    assert.ok('bytes' in body);
    assert.equal(Buffer.from(body.bytes).toString().split('123456789012345678903').length, 4);
    body.release();
  });
});
