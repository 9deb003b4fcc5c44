import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../http.ts';
import { freePort } from '../plain-engine.ts';

/** A ZooKeeper of one process, with its data in a directory of the caller. */
export interface ZooKeeper {
  readonly port: number;
  /** SIGKILL, resolved once it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** Removes its data while it does not run. */
  forget(): Promise<void>;
}

/** What Debian's packages `zookeeper` and `libzookeeper-java` bring along. */
const jars = [
  'zookeeper',
  'zookeeper-jute',
  'slf4j-api',
  'slf4j-log4j12',
  'log4j-1.2',
  'netty-all',
  'metrics-core',
  'snappy-java',
  'commons-cli',
].map((name) => `/usr/share/java/${name}.jar`);

export const hasZooKeeper: boolean = jars.every((jar) => existsSync(jar));

const configuration = (dir: string, port: number): string =>
  [
    'tickTime=500',
    'initLimit=20',
    'syncLimit=10',
    `dataDir=${dir}/data`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    'maxClientCnxns=0',
    'maxSessionTimeout=60000',
    '',
  ].join('\n');

const logging = [
  'log4j.rootLogger=WARN, C',
  'log4j.appender.C=org.apache.log4j.ConsoleAppender',
  'log4j.appender.C.layout=org.apache.log4j.SimpleLayout',
  '',
].join('\n');

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write('srvr'));
    socket.setTimeout(1000, () => socket.destroy());
    socket.on('data', (piece) => (text += String(piece)));
    socket.on('close', () => resolve(text.includes('Mode')));
    socket.on('error', () => resolve(false));
  });
}

export async function startZooKeeper(parent: string): Promise<ZooKeeper> {
  const dir = join(parent, 'zookeeper');
  await mkdir(join(dir, 'data'), { recursive: true });
  const port = await freePort();
  const [config, log] = [join(dir, 'zoo.cfg'), join(dir, 'log4j.properties')];
  await writeFile(config, configuration(dir, port));
  await writeFile(log, logging);
  const output = await open(join(dir, 'output'), 'a');
  const command = [
    '-Xms64m',
    '-Xmx256m',
    `-Dlog4j.configuration=file:${log}`,
    '-Djute.maxbuffer=50000000',
    '-Dzookeeper.forceSync=no',
    '-cp',
    jars.join(':'),
    'org.apache.zookeeper.server.quorum.QuorumPeerMain',
    config,
  ];
  let child: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();
  const start = async () => {
    const started = spawn('java', command, { stdio: ['ignore', output.fd, output.fd] });
    child = started;
    gone = new Promise((resolve) => {
      started.once('close', () => resolve());
      started.once('error', () => resolve());
    });
    await eventually('ZooKeeper to answer', async () => (await answers(port)) || undefined, 30_000);
  };
  process.on('exit', () => child?.kill('SIGKILL'));
  await start();
  return {
    port,
    start,
    kill: async () => {
      child?.kill('SIGKILL');
      await gone;
    },
    forget: async () => {
      await rm(join(dir, 'data'), { recursive: true, force: true });
      await mkdir(join(dir, 'data'));
    },
  };
}
