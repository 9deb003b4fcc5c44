import { strict as assert } from 'node:assert';
import { after, before, describe, it } from 'node:test';
import { auditHandler } from '../../src/http/routes/audit.ts';
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
    const envelope = { head: eventHead, tail: eventTail({ vendorName: 'V', productName: 'P' }) };
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
});
