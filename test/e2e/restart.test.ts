import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

let dataDir: string;
let server: TestServer;
let tenant: Tenant;

before(async () => {
  dataDir = await temporaryDirectory();
  // Nothing that is acknowledged reaches the engine by itself, until it is started again.
  server = await startServer({ dataDir, env: { FLUSH_INTERVAL: '60s' } });
  tenant = await createTenant(server, 'restart');
});
after(async () => {
  await server?.stop();
  await removeDirectory(dataDir);
});

async function restart(): Promise<void> {
  server = await startServer({ dataDir });
  tenant = tenant.with({ server });
}

const flowBatch = (flow: string, count: number) =>
  Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n } }));

test('kill -9 right after a 202 loses nothing and doubles nothing', async () => {
  const flows: string[] = [];
  for (let round = 0; round < rounds(1, 3); round++) {
    const flow = randomUUID();
    await tenant.record(flowBatch(flow, 100 + round));
    flows.push(flow);
    await server.kill('SIGKILL');
    await restart();
    // What earlier rounds stored is still there, once.
    for (const [n, earlier] of flows.entries()) await tenant.settled(100 + n, { flowId: earlier });
  }
  await tenant.caughtUp();
  for (const [n, flow] of flows.entries()) {
    const page = await tenant.settled(100 + n, { flowId: flow });
    assert.deepEqual(
      page.data.map((event) => event.extra_map?.['n']),
      Array.from({ length: 100 + n }, (_, i) => 99 + n - i),
    );
  }
});
