import { randomBytes } from 'node:crypto';
import { openStorage } from '../../src/storage/client.ts';
import { keepEventsView } from '../../src/storage/events-view.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from './engine.ts';
import { type NodeDoor, startNodeDoor } from './node-door.ts';
import { again } from './replicas/again.ts';
import { freePort, type LimitedUser, type PlainEngine, startPlainEngine } from './plain-engine.ts';

/**
 * A cluster of two shards with one node each, for tests of Distributed tables: an organization's events are on one node.
 * Services use it with `CLICKHOUSE_CLUSTER`, as any cluster.
 *
 *     node a   events_local (shard 1)   events ─▶ both   journal, removals, …
 *     node b   events_local (shard 2)   events ─▶ both   journal, removals, … ─▶ those of node a
 *
 * There is no Keeper and no replication. So services connect through a door (`node-door.ts`), which sends statements for the
 * cluster to each node without ON CLUSTER and makes replicated engines plain ones. Control data are on node a alone. Losses of
 * replicas, quorums and distributed DDL are tested by `cluster-image.ts`.
 */
export interface TwoShards {
  readonly cluster: string;
  readonly a: PlainEngine;
  readonly b: PlainEngine;
  /** For services at node b; passes to node a what only a replica could do. */
  readonly doorOfB: NodeDoor;
  /** Environment of a service on a database of this cluster, through node a. */
  env(database: string): Readonly<Record<string, string>>;
  /** Makes missing tables of a database. */
  prepare(database: string, envelope: Envelope): Promise<void>;
  /** As the node's owner. */
  storageOf(node: 'a' | 'b', database: string): Storage;
  stop(): Promise<void>;
  stopAtExit(): void;
}

/** The constant parts of events in the view for operators. */
export interface Envelope {
  readonly head: string;
  readonly tail: string;
}

const cluster = 'two';
/** The node with the control data. */
const controlCluster = 'control';

const remoteServers = (a: number, b: number, secret: string): string => {
  const shard = (port: number) =>
    `<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`;
  return (
    `<remote_servers><${cluster}><secret>${secret}</secret>${shard(a)}${shard(b)}</${cluster}>` +
    `<${controlCluster}><secret>${secret}</secret>${shard(a)}</${controlCluster}></remote_servers>`
  );
};

const onCluster = / ON CLUSTER `two`/g;
const replicated = /\bReplicated(Replacing)?MergeTree\('([^']*)', '[^']*'(?:, )?(\w*)\)/;

/** A cluster statement as one node can execute it; undefined: nothing to do. */
function statementFor(node: 'a' | 'b', statement: string): string | undefined {
  const local = statement.replaceAll(onCluster, '');
  const engine = replicated.exec(local);
  if (engine === null) return local;
  const [whole, replacing = '', path = '', version = ''] = engine;
  const plain = `${replacing}MergeTree${version === '' ? '' : `(${version})`}`;
  if (node === 'a' || !path.endsWith('/all')) return local.replace(whole, plain);
  const table = /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(local)?.[1];
  if (table === undefined) return undefined;
  const columns = local.slice(0, local.indexOf('ENGINE ='));
  return `${columns} ENGINE = Distributed('${controlCluster}', currentDatabase(), '${table}')`;
}

export async function startTwoShards(limited?: LimitedUser): Promise<TwoShards> {
  const [portA, portB] = [await freePort(), await freePort()];
  const elements = remoteServers(portA, portB, randomBytes(16).toString('hex'));
  const password = randomBytes(16).toString('hex');
  const [a, b] = await Promise.all(
    [portA, portB].map((tcpPort) => startPlainEngine(limited, { tcpPort, password, elements })),
  );
  if (a === undefined || b === undefined) throw new Error('there are two nodes');
  const ports = [a.port, b.port];
  const door = (port: number): Promise<NodeDoor> =>
    startNodeDoor({
      port,
      portOfChanges: a.port,
      ports,
      statementFor: (n, statement) => statementFor(n === 0 ? 'a' : 'b', statement),
    });
  const [doorOfA, doorOfB] = [await door(a.port), await door(b.port)];
  const open: Storage[] = [];
  const connection = (url: string, database: string) => ({
    url,
    user: a.owner,
    password,
    database,
    headers: {},
  });
  const storageOf = (node: 'a' | 'b', database: string): Storage => {
    const storage = openStorage(connection((node === 'a' ? a : b).url, database), silentLog);
    open.push(storage);
    return storage;
  };
  const prepare = async (database: string, envelope: Envelope): Promise<void> => {
    const storage = openStorage({ ...connection(doorOfA.url, database), cluster }, silentLog);
    try {
      // An engine may have crashed (plain-engine.ts) and be restarting.
      await again('both nodes to have the tables', async () => {
        await migrate(storage, { log: silentLog, cluster });
        await keepEventsView(storage, { database, cluster, ...envelope });
      });
    } finally {
      await storage.close();
    }
  };
  return {
    cluster,
    a,
    b,
    doorOfB,
    env: (database) => ({
      ...a.env,
      CLICKHOUSE_URL: doorOfA.url,
      CLICKHOUSE_CLUSTER: cluster,
      CLICKHOUSE_DATABASE: database,
    }),
    prepare,
    storageOf,
    stopAtExit: () => {
      a.stopAtExit();
      b.stopAtExit();
      doorOfA.stopAtExit();
      doorOfB.stopAtExit();
    },
    stop: async () => {
      await Promise.all(open.map((storage) => storage.close()));
      await Promise.all([doorOfA.stop(), doorOfB.stop()]);
      await Promise.all([a.stop(), b.stop()]);
    },
  };
}
