import { after, before, describe, test } from 'node:test';
import { keptService } from '../../support/kept-service.ts';
import { freePort } from '../../support/plain-engine.ts';
import { createTenant, sourceEvent } from '../../support/server.ts';
import { TestPrometheus } from './prometheus.ts';

const dayMs = 86_400_000;
const port = await freePort();
const env = { PORT: String(port), RETENTION_INTERVAL: '1s' };
const service = keptService(env);

describe('the alert of a service whose clock jumped while it was stopped', () => {
  let prometheus: TestPrometheus;

  before(async () => {
    const server = await service.ready();
    const tenant = await createTenant(server, 'clock-alert');
    await server.cliHere(['org', 'set', '--org', 'clock-alert', '--retention', '30d']);
    await tenant.record([sourceEvent({ timestamp: new Date(Date.now() - 10 * dayMs).toISOString() })]);
    prometheus = await TestPrometheus.start([{ job: 'auditlog', port }]);
  });

  after(() => prometheus?.stop());

  test('a clock that is 60 days ahead', async () => {
    await prometheus.quiet('AuditlogClockNotTrusted');
    await service.server.stop();
    const module = new URL('../../support/shifted-clock.mjs', import.meta.url).href;
    await service.start({ ...env, NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(60 * dayMs) });
    await prometheus.fires('AuditlogClockNotTrusted');
  });
});
