import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';

/** With an embedded engine, whatever engine is chosen for the others: its claims are those of a machine. */
const service = keptService({ EVIDENCE_INTERVAL: '200ms' });
const commands = new Set<ChildProcess>();
let tenant: Tenant;
before(async () => {
  await service.ready();
  tenant = await createTenant(service.server, 'claims');
});
after(() => {
  for (const one of commands) one.kill('SIGKILL');
});

/** A command that stands still with its claim. */
async function standing(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('standing-command.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, service.dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  commands.add(child);
  assert.ok(child.stdout);
  await once(child.stdout, 'data');
  return child;
}

const get = async (path: string) =>
  (await call(`${service.server.url}${path}`, { headers: { 'x-api-key': tenant.key } })).text;
const checks = async () => (JSON.parse(await get('/readyz')) as { checks: Record<string, boolean> }).checks;

async function inFeed(name: string): Promise<boolean> {
  return (await get('/api/v1/audit/feed?limit=1000')).includes(name);
}

test('the feed waits for a command that stands still, tells so, and goes on at once when it is killed', async () => {
  await tenant.record([sourceEvent({ actor: 'before@claims.example' })]);
  await eventually('the event in the feed', async () => ((await inFeed('before@')) ? true : undefined));
  assert.equal((await checks())['feed_goes_on'], true);
  const command = await standing();
  // The log may have begun with the segment of the first before there was a claim.
  for (const actor of ['beside@claims.example', 'behind@claims.example']) {
    await tenant.record([sourceEvent({ actor })]);
    await tenant.settled(1, { actor });
  }
  await eventually('the check to fail', async () =>
    (await checks())['feed_goes_on'] === false ? true : undefined,
  );
  assert.equal(await inFeed('behind@'), false);
  assert.match(await get('/metrics'), /^auditlog_feed_held_back_seconds\{writer="command"\} \d\d/m);
  const line = service.server.stderrLines().find((one) => one.includes('the feed waits for a command'));
  assert.equal((JSON.parse(line ?? '{}') as { pid?: number }).pid, command.pid);
  command.kill('SIGKILL');
  await once(command, 'exit');
  await eventually('the event in the feed', async () => ((await inFeed('behind@')) ? true : undefined));
  await eventually('the check to pass', async () =>
    (await checks())['feed_goes_on'] === true ? true : undefined,
  );
});
