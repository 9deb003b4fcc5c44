import { strict as assert } from 'node:assert';
import { createHash, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../src/config/config.ts';
import { eventHead, eventTail } from '../../../src/ocsf/envelope.ts';
import { findEngineLibrary } from '../../../src/storage/engine-process.ts';
import { openStorage } from '../../../src/storage/client.ts';
import { keepEventsView } from '../../../src/storage/events-view.ts';
import { migrate } from '../../../src/storage/migrate.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import { removeDirectory, temporaryDirectory } from '../directories.ts';
import { silentLog } from '../engine.ts';
import { type NodeDoor, startNodeDoor } from '../node-door.ts';
import { freePort, type PlainEngine, startPlainEngine } from '../plain-engine.ts';
import { buildIdOf, knownBuildId } from './build-id.mjs';
import { hasZooKeeper, startZooKeeper, type ZooKeeper } from './zookeeper.ts';

/** A cluster with real replicas (README.md), and the tables of the service in one database. */
export interface Replicas {
  readonly zooKeeper: ZooKeeper;
  /** Shard by shard. */
  readonly nodes: readonly ReplicaNode[];
  /** The variables of a service on it, through all nodes. */
  readonly env: Readonly<Record<string, string>>;
  nodeOf(shard: number, replica: number): ReplicaNode;
  /** The storage at a node alone. */
  at(shard: number, replica: number): Storage;
  /** A storage through several nodes, for the caller to close. */
  through(...nodes: readonly ReplicaNode[]): Storage;
  stop(): Promise<void>;
}

export interface ReplicaNode {
  readonly shard: number;
  readonly replica: number;
  readonly engine: PlainEngine;
  /** Where services reach it. */
  readonly door: NodeDoor;
  /** At this node alone, through its door. */
  readonly storage: Storage;
}

const cluster = 'audit';
export const database = 'prod';
const sessionMs = 6_000;

/** Why there can be no replicas on this machine; undefined: there can. */
export async function whyNoReplicas(): Promise<string | undefined> {
  if (process.arch !== 'x64')
    return `NOT TESTED: replicas need the engine's library for x64, this is ${process.arch}`;
  if (!hasZooKeeper)
    return 'NOT TESTED: ZooKeeper is not installed (apt-get install zookeeper), so nothing of replicas is tried';
  const found = buildIdOf(await findEngineLibrary());
  if (found === knownBuildId) return undefined;
  throw new Error(
    `libchdb.so has build id ${found}: find the addresses of this build (test/support/replicas/README.md)`,
  );
}

interface Place {
  readonly shard: number;
  readonly replica: number;
  readonly tcpPort: number;
}

function elementsOf(place: Place, places: readonly Place[], secret: string, zooKeeperPort: number): string {
  const { shard, replica } = place;
  const shards = [...new Set(places.map((one) => one.shard))].map((number) => {
    const replicas = places
      .filter((one) => one.shard === number)
      .map(({ tcpPort }) => `<replica><host>127.0.0.1</host><port>${tcpPort}</port></replica>`);
    return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`;
  });
  return (
    `<listen_host>127.0.0.2</listen_host><macros><shard>${shard}</shard><replica>${replica}</replica></macros>` +
    `<remote_servers><${cluster}><secret>${secret}</secret>${shards.join('')}</${cluster}></remote_servers>` +
    `<zookeeper><node><host>127.0.0.1</host><port>${zooKeeperPort}</port></node><session_timeout_ms>${sessionMs}</session_timeout_ms>` +
    `<sessions_path>/clickhouse/sessions/${shard}_${replica}</sessions_path></zookeeper>`
  );
}

const preload = fileURLToPath(new URL('replicating-engine.mjs', import.meta.url));
const onCluster = / ON CLUSTER `\w+`/;
const createTable = /^CREATE TABLE IF NOT EXISTS (\w+)/;

/** As for a statement ON CLUSTER, a table has one UUID on all nodes, which names its path in ZooKeeper. */
function withUuid(statement: string, salt: string, target: string): string {
  return statement.replace(createTable, (words, table: string) => {
    const hex = createHash('sha256')
      .update([salt, new URL(target, 'http://node').searchParams.get('database'), table].join('\n'))
      .digest('hex');
    const uuid = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(hex)?.slice(1).join('-');
    return `${words} UUID '${uuid}'`;
  });
}

/** A table that is replicated is altered at one of its replicas: those of a shard, or for control data all nodes. */
function isAlteredOnce(statement: string): 'shard' | 'all' | undefined {
  const table = /^ALTER TABLE (?:`?\w+`?\.)?`?(\w+)/.exec(statement)?.[1];
  if (table === undefined || table === 'events') return undefined;
  return table === 'events_local' ? 'shard' : 'all';
}

async function startNodes(
  places: readonly Place[],
  password: string,
  zooKeeper: ZooKeeper,
): Promise<ReplicaNode[]> {
  const secret = randomBytes(16).toString('hex');
  const engines = await Promise.all(
    places.map((place) =>
      startPlainEngine(undefined, {
        tcpPort: place.tcpPort,
        password,
        elements: elementsOf(place, places, secret, zooKeeper.port),
        preload,
      }),
    ),
  );
  const ports = engines.map(({ port }) => port);
  const nodeOf = async (engine: PlainEngine, { shard, replica }: Place): Promise<ReplicaNode> => {
    const door = await startNodeDoor({
      port: engine.port,
      portOfChanges: engine.port,
      ports,
      statementFor: (_, statement, target) => withUuid(statement.replace(onCluster, ''), secret, target),
      placeOf: (n, statement) => {
        const once = isAlteredOnce(statement);
        if (once === undefined) return n;
        return once === 'all' ? 'all' : `shard ${places[n]?.shard}`;
      },
    });
    const connection = { url: door.url, user: engine.owner, password, headers: {}, cluster };
    return { shard, replica, engine, door, storage: openStorage({ ...connection, database }, silentLog) };
  };
  return Promise.all(places.map((place, n) => nodeOf(engines[n] as PlainEngine, place)));
}

/** Starts `shards` times `replicas` engines and a ZooKeeper; only after `whyNoReplicas` has found no reason. */
export async function startReplicas(shards: number, replicas: number): Promise<Replicas> {
  const dir = await temporaryDirectory();
  const password = randomBytes(16).toString('hex');
  const zooKeeper = await startZooKeeper(dir);
  const places: Place[] = [];
  for (let shard = 1; shard <= shards; shard++)
    for (let replica = 1; replica <= replicas; replica++)
      places.push({ shard, replica, tcpPort: await freePort() });
  const nodes = await startNodes(places, password, zooKeeper);
  const nodeOf = (shard: number, replica: number): ReplicaNode =>
    nodes.find((node) => node.shard === shard && node.replica === replica) ??
    assert.fail(`there is no node ${shard}-${replica}`);
  const first = nodeOf(1, 1);
  await migrate(first.storage, { log: silentLog, cluster });
  const envelope = { head: eventHead, tail: eventTail(loadConfig({})) };
  await keepEventsView(first.storage, { database, cluster, ...envelope });
  return {
    zooKeeper,
    nodes,
    env: {
      CLICKHOUSE_URL: nodes.map(({ door }) => door.url).join(','),
      CLICKHOUSE_USER: first.engine.owner,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_CLUSTER: cluster,
      CLICKHOUSE_DATABASE: database,
    },
    nodeOf,
    at: (shard, replica) => nodeOf(shard, replica).storage,
    through: (...some) => {
      const [url = '', ...otherUrls] = some.map(({ door }) => door.url);
      const user = first.engine.owner;
      return openStorage({ url, otherUrls, user, password, headers: {}, cluster, database }, silentLog);
    },
    stop: async () => {
      await Promise.all(nodes.map(({ storage }) => storage.close()));
      await Promise.all(nodes.map(({ door }) => door.stop()));
      await Promise.all(nodes.map(({ engine }) => engine.stop()));
      await zooKeeper.kill();
      await removeDirectory(dir);
    },
  };
}
