import { once } from 'node:events';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sourceEvent, type Tenant } from '../../support/server.ts';
import { TestPrometheus } from './prometheus.ts';
import { answered, type OnServer, startWithDeadWriter } from './services.ts';

/** Sends an event whose second half takes more than a second. */
async function recordSlowly({ server, key }: Tenant): Promise<void> {
  const body = JSON.stringify(sourceEvent({}));
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length };
  const sent = request(`${server.url}/api/v1/audit`, { method: 'POST', headers, signal: answered() });
  const answer = once(sent, 'response');
  sent.write(body.slice(0, 10));
  await sleep(1_500);
  sent.end(body.slice(10));
  await answer;
}

describe('alerts of a service that shares its engine', () => {
  let shared: OnServer;
  let prometheus: TestPrometheus;

  before(async () => {
    shared = await startWithDeadWriter();
    prometheus = await TestPrometheus.start([shared.target]);
  });

  after(async () => {
    await prometheus?.stop();
    await shared?.stop();
  });

  test('a service that hardly gets the processor, and writes that take long', async () => {
    const { pid } = shared.living;
    await prometheus.fires('AuditlogEventLoopSlow', async () => {
      process.kill(pid, 'SIGSTOP');
      await sleep(900);
      process.kill(pid, 'SIGCONT');
    });
    await prometheus.fires('AuditlogSlowAcknowledgement', () => recordSlowly(shared.tenant));
  });

  test('reads that fail, as the server of the engine is gone', async () => {
    await prometheus.quiet('AuditlogReadsFail');
    await shared.engine.kill();
    try {
      await prometheus.fires('AuditlogReadsFail', () => shared.tenant.get());
    } finally {
      await shared.engine.start();
    }
  });

  // Last, as it takes a minute after the death.
  test('a feed that a dead writer holds back', () => prometheus.fires('AuditlogFeedHeldBack'));
});
