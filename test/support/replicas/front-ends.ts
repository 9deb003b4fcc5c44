import { randomUUID } from 'node:crypto';
import { createTenant, type SharedServer, startServer, type Tenant, type TestServer } from '../server.ts';
import { again } from './again.ts';
import type { Replicas } from './replicas.ts';

export const startFrontEnd = (options: Parameters<typeof startServer>[0]): Promise<TestServer> =>
  again('the server to start', () => startServer(options));

/** An organization on a shard, which follows from its random id. */
export async function organizationOn(
  { nodes, at }: Replicas,
  server: SharedServer,
  shard = 1,
): Promise<Tenant> {
  const shards = nodes.at(-1)?.shard ?? 1;
  for (;;) {
    const slug = () => `t-${randomUUID().slice(0, 8)}`;
    const tenant = await again('an organization', () => createTenant(server, slug()));
    const [found] = await again('its shard', () =>
      at(1, 1).rows<{ shard: number }>(
        'SELECT toUInt8(cityHash64({org:UUID}) % {shards:UInt8}) + 1 AS shard',
        {
          org: tenant.organization.id,
          shards,
        },
      ),
    );
    if (found?.shard === shard) return tenant;
  }
}
