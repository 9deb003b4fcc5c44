import { strict as assert } from 'node:assert';
import { after, before, describe, it } from 'node:test';
import { portalEventsHandler } from '../../src/http/routes/portal-events.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { createPageReader } from '../../src/read/page.ts';
import { startTestEngine, type TestEngine } from '../support/engine.ts';
import type { Page } from '../support/http.ts';
import { answerOf, createCaller, createRecorder } from './support.ts';

describe('events for the portal', () => {
  let engine: TestEngine;
  before(async () => {
    engine = await startTestEngine();
  });
  after(() => engine.stop());

  it('are the page that the audit endpoint gives, of the session’s organization', async () => {
    const record = createRecorder(engine.storage);
    const frame = { head: eventHead, tail: eventTail({ vendorName: 'V', productName: 'P' }) };
    const handler = portalEventsHandler(
      createPageReader(
        engine.storage,
        frame,
        () => 77,
        async () => undefined,
      ),
    );
    const begin = Date.UTC(2024, 0, 1) * 1000;
    const caller = createCaller();
    const other = createCaller();
    const event = (timestamp: number, actor: string) => ({ message: { action: 1001, timestamp, actor } });
    await record(caller.organization.id, [
      event(begin + 5, 'a@x'),
      event(begin + 6, 'b@x'),
      event(begin + 7, 'A@x'),
    ]);
    await record(other.organization.id, [event(begin + 8, 'a@x')]);
    const page = await answerOf<Page>(handler, caller, { actor: 'a@X', limit: '1', offset: '1' });
    assert.deepEqual(page.meta, { total: 2, limit: 1, offset: 1 });
    assert.deepEqual(
      page.data.map(({ time, metadata }) => [time, metadata.logged_time]),
      [[begin + 5, 77]],
    );
    const foreign = await answerOf<Page>(handler, caller, { orgId: other.organization.id });
    assert.deepEqual(foreign, { data: [], meta: { total: 0, limit: 50, offset: 0 } });
  });
});
