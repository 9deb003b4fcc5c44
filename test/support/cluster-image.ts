import { fileURLToPath } from 'node:url';
import type { StartedNetwork, StartedTestContainer } from 'testcontainers';
import { patience } from './patience.ts';
import { projectRoot } from './project-root.ts';
import { image, whyNoImages } from './server-image.ts';

/**
 * The cluster of `deploy/clickhouse-cluster` from images, if Docker runs: two shards of two servers each and
 * three Keepers, with real replicas, quorums and ON CLUSTER.
 */
export interface ClusterImage {
  /** Environment of a service that uses all four servers. */
  readonly env: Readonly<Record<string, string>>;
  /** Stops a node such as `clickhouse-1-2` or `keeper-3`; it restarts with its data. */
  stopNode(name: string): Promise<void>;
  startNode(name: string): Promise<void>;
  stop(): Promise<void>;
}

const keeperImage = 'clickhouse/clickhouse-keeper:26.3';
const user = 'audit';
const password = 'of-the-test';
const port = 8123;

const file = (name: string, target: string) => ({
  source: fileURLToPath(new URL(`deploy/clickhouse-cluster/${name}`, projectRoot)),
  target,
});

async function startKeeper(network: StartedNetwork, id: number): Promise<StartedTestContainer> {
  const { GenericContainer } = await import('testcontainers');
  return new GenericContainer(keeperImage)
    .withNetwork(network)
    .withNetworkAliases(`keeper-${id}`)
    .withEnvironment({ SERVER_ID: String(id) })
    .withCopyFilesToContainer([file('keeper.xml', '/etc/clickhouse-keeper/keeper_config.xml')])
    .start();
}

async function startNode(
  network: StartedNetwork,
  shard: number,
  replica: number,
): Promise<StartedTestContainer> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const name = `clickhouse-${shard}-${replica}`;
  const folder = '/etc/clickhouse-server/config.d';
  return new GenericContainer(image)
    .withNetwork(network)
    .withNetworkAliases(name)
    .withHostname(name)
    .withEnvironment({
      CLICKHOUSE_USER: user,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
      SHARD: String(shard),
      REPLICA: String(replica),
    })
    .withCopyFilesToContainer(
      ['remote_servers.xml', 'macros.xml'].map((name) => file(name, `${folder}/${name}`)),
    )
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHttp('/ping', port))
    .withStartupTimeout(patience(90_000))
    .start();
}

/** Starts it and waits for all servers; a reason if Docker or an image is missing. */
export async function startClusterImage(): Promise<ClusterImage | string> {
  const reason = await whyNoImages([image, keeperImage]);
  if (reason !== undefined) return reason;
  const { Network } = await import('testcontainers');
  const { startFaultProxy } = await import('./fault-proxy.ts');
  const network = await new Network().start();
  const nodes = new Map<string, StartedTestContainer>();
  const keepers = await Promise.all([1, 2, 3].map((id) => startKeeper(network, id)));
  for (const [index, keeper] of keepers.entries()) nodes.set(`keeper-${index + 1}`, keeper);
  const places = [1, 2].flatMap((shard) => [1, 2].map((replica) => [shard, replica] as const));
  const servers = await Promise.all(places.map(([shard, replica]) => startNode(network, shard, replica)));
  for (const [index, [shard, replica]] of places.entries()) {
    const server = servers[index];
    if (server !== undefined) nodes.set(`clickhouse-${shard}-${replica}`, server);
  }
  // Docker assigns a new port at each start.
  const doors = await Promise.all(servers.map((server) => startFaultProxy(() => server.getMappedPort(port))));
  const nodeOf = (name: string): StartedTestContainer => {
    const node = nodes.get(name);
    if (node === undefined) throw new Error(`there is no ${name}`);
    return node;
  };
  return {
    env: {
      CLICKHOUSE_URL: doors.map(({ url }) => url).join(','),
      CLICKHOUSE_USER: user,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_CLUSTER: 'audit',
    },
    stopNode: async (name) => {
      await nodeOf(name).stop({ remove: false, removeVolumes: false });
    },
    startNode: (name) => nodeOf(name).restart(),
    stop: async () => {
      await Promise.all(doors.map((door) => door.stop()));
      await Promise.all([...nodes.values()].map((node) => node.stop()));
      await network.stop();
    },
  };
}
