import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import {
  acceptedOf,
  call,
  eventually,
  type HttpAnswer,
  pageOf,
  problemOf,
  retryAfterOf,
} from '../support/http.ts';
import { neededGrants } from '../../src/storage/rights.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { patience } from '../support/patience.ts';

const flowBatch = (flow: string, count: number, pad = '') =>
  Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n, pad } }));

/** The one error of a read without an engine (contract: Errors). */
function notRetrieved(answer: HttpAnswer): void {
  problemOf(answer, 500);
  assert.ok(retryAfterOf(answer) >= 0);
}

describe('the connection to the engine fails', () => {
  let engine: PlainEngine;
  let proxy: FaultProxy;
  let server: TestServer;
  let tenant: Tenant;
  const kept = randomUUID();
  before(async () => {
    // With no more rights than are documented: what is asked after an engine has died needs rights of its own.
    engine = await startPlainEngine({ databases: ['audit'], grants: neededGrants('audit', 'audit') });
    proxy = await startFaultProxy(engine.port);
    server = await startServer({
      env: { ...engine.env, CLICKHOUSE_URL: proxy.url, SEGMENT_BYTES: '262144', WAL_MAX_BYTES: '2097152' },
    });
    tenant = await createTenant(server, 'cut-off');
    await tenant.record(flowBatch(kept, 1000, 'x'.repeat(300)));
    await tenant.settled(1000, { flowId: kept });
  });
  after(async () => {
    await server?.stop();
    await proxy?.stop();
    await engine?.stop();
  });

  test('refused: every read is a 500 with Retry-After, whatever it asks for', async () => {
    proxy.set('refuse');
    try {
      for (const query of [
        '',
        'limit=1',
        'limit=1000',
        `flowId=${kept}`,
        'actor=x',
        'offset=100000',
        'orgId=other',
      ]) {
        const answer = await tenant.get(query);
        // What can give no events needs no engine.
        if (query === 'orgId=other' && answer.status === 200) assert.equal(pageOf(answer).meta.total, 0);
        else notRetrieved(answer);
      }
      // Who may not read still learns just that.
      problemOf(await tenant.with({ key: 'wrong' }).get(), 401);
      assert.equal((await call(`${server.url}/healthz`)).status, 200);
      const ready = await call(`${server.url}/readyz`);
      problemOf(ready, 503);
      assert.ok(retryAfterOf(ready) >= 0);
    } finally {
      proxy.set('none');
    }
    await eventually('reads to work again', async () =>
      (await tenant.get()).status === 200 ? true : undefined,
    );
    assert.equal((await call(`${server.url}/readyz`)).status, 200);
  });

  test('hanging: metrics do not wait for it, and then tell so', async () => {
    const metrics = async () => (await call(`${server.url}/metrics`)).text;
    await eventually('the metric to be 1', async () =>
      /^auditlog_ready\{check="engine_reachable"\} 1$/m.test(await metrics()) ? true : undefined,
    );
    proxy.set('hang');
    try {
      const answered: string[] = [];
      const ready = call(`${server.url}/readyz`).then((answer) => {
        answered.push('readyz');
        problemOf(answer, 503);
      });
      const text = await metrics();
      answered.push('metrics');
      await ready;
      assert.deepEqual(answered, ['metrics', 'readyz']);
      assert.match(text, /^auditlog_ready_age_seconds (?!0$)\d/m);
      await eventually('the metric to be 0', async () =>
        /^auditlog_ready\{check="engine_reachable"\} 0$/m.test(await metrics()) ? true : undefined,
      );
    } finally {
      proxy.set('none');
    }
    await eventually('figures of now', async () => {
      const text = await metrics();
      return /^auditlog_ready\{check="engine_reachable"\} 1$/m.test(text) &&
        /^auditlog_ready_age_seconds 0$/m.test(text) &&
        /^auditlog_engine_partition_parts_age_seconds 0$/m.test(text)
        ? true
        : undefined;
    });
  });

  test('cut in the middle of an answer: a 500, never a part of a page', async () => {
    for (const cutAfterBytes of [0, 200, 30_000, 1, 1000, 300_000].slice(0, rounds(3, 6))) {
      proxy.set({ cutAfterBytes });
      try {
        for (let n = 0; n < 2; n++) notRetrieved(await tenant.get('limit=1000'));
        const compressed = await tenant.get('limit=1000', { 'accept-encoding': 'gzip' });
        notRetrieved(compressed);
      } finally {
        proxy.set('none');
      }
    }
    const page = await eventually('reads to work again', async () => {
      const answer = await tenant.get({ flowId: kept, limit: '1000' });
      return answer.status === 200 ? pageOf(answer) : undefined;
    });
    assert.equal(page.data.length, 1000);
  });

  test('writes are taken until the log is full, then 503, and everything taken arrives once', {
    timeout: patience(60_000),
  }, async () => {
    const flow = randomUUID();
    const batch = flowBatch(flow, 100, 'x'.repeat(1000));
    let taken = 0;
    let full: HttpAnswer | undefined;
    proxy.set('refuse');
    try {
      for (let n = 0; n < 400 && full === undefined; n++) {
        const answer = await tenant.post(batch);
        if (answer.status === 202) taken += 100;
        else full = answer;
      }
      assert.ok(taken > 0, 'nothing was taken while the engine was away');
      assert.ok(full, 'the log never filled up');
      problemOf(full, 503);
      assert.ok(retryAfterOf(full) >= 0);
    } finally {
      proxy.set('none');
    }
    await eventually('writes to be taken again', async () => {
      const answer = await tenant.post([sourceEvent()]);
      return answer.status === 202 ? true : undefined;
    });
    await tenant.settled(taken, { flowId: flow });
    await tenant.caughtUp();
    await tenant.settled(taken, { flowId: flow });
  });

  test('the server stops cleanly while the engine is away, and hands over what is left after a restart', async () => {
    const flow = randomUUID();
    proxy.set('refuse');
    let second: TestServer | undefined;
    try {
      assert.equal(acceptedOf(await tenant.post(flowBatch(flow, 7))).accepted, 7);
      server.kill('SIGTERM').catch(() => undefined);
      assert.equal(await server.exited(), 0);
      proxy.set('none');
      second = await startServer({
        dataDir: server.dataDir,
        env: { ...engine.env, CLICKHOUSE_URL: proxy.url },
      });
      await tenant.with({ server: second }).settled(7, { flowId: flow });
    } finally {
      proxy.set('none');
      await second?.stop();
    }
  });
});
