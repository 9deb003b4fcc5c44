import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEngineLibrary } from '../../src/storage/engine-process.ts';
import { programOf } from './cli-command.ts';
import { call, eventually } from './http.ts';

/**
 * The same engine as the embedded one, but as an ordinary server: a URL, a user, a password, and nothing that only
 * our own engine asks for. What `CLICKHOUSE_URL` is tried against where no server image can be run.
 */
export interface PlainEngine {
  readonly url: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** The variables that make a server use it, as the limited user where there is one. */
  readonly env: Readonly<Record<string, string>>;
  /** SIGKILL, resolved once it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data, after `kill`. */
  start(): Promise<void>;
  /** `kill`, then removes the data. */
  stop(): Promise<void>;
  /** The same when this process ends, which the engine does not keep from it. */
  stopAtExit(): void;
}

/** What makes an engine one of several that know each other: a port for them, and the same words in all of them. */
export interface ClusterMember {
  readonly tcpPort: number;
  readonly password: string;
  /** Elements of its configuration: `remote_servers`, `macros`. */
  readonly elements: string;
  /** What these elements take from the environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** What a user may do who is not the owner of the engine: the grants, and the databases that are there for it. */
export interface LimitedUser {
  readonly databases: readonly string[];
  readonly grants: readonly string[];
}

const user = 'audit';
const limitedUser = 'limited';
const keeper =
  'SELECT sleepEachRow(1) FROM numbers(100000000) ' +
  'SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null';

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Everything is refused that the service's documents do not name: what servers can be told to want granted, it wants. */
const strict = `<access_control_improvements>${[
  'select_from_system_db_requires_grant',
  'select_from_information_schema_requires_grant',
  'on_cluster_queries_require_cluster_grant',
  'table_engines_require_grant',
]
  .map((name) => `<${name}>true</${name}>`)
  .join('')}</access_control_improvements>`;

function limitedUserXml(hash: string, grants: readonly string[]): string {
  const queries = grants.map((grant) => `<query>${grant.replace(/ TO .*$/, '')}</query>`).join('');
  return `<${limitedUser}><password_sha256_hex>${hash}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><grants>${queries}</grants></${limitedUser}>`;
}

async function writeConfig(
  dir: string,
  port: number,
  password: string,
  limited: LimitedUser | undefined,
  member: ClusterMember | undefined,
): Promise<string> {
  const hash = createHash('sha256').update(password).digest('hex');
  const users = join(dir, 'users.xml');
  const config = join(dir, 'config.xml');
  await writeFile(
    users,
    `<clickhouse><profiles><default/><local><max_sessions_for_user>1</max_sessions_for_user></local></profiles>
<quotas><default/></quotas><users>
<default><no_password/><networks><ip>127.0.0.1</ip></networks><profile>local</profile><quota>default</quota><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>
<${user}><password_sha256_hex>${hash}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><access_management>1</access_management></${user}>
${limited === undefined ? '' : limitedUserXml(hash, limited.grants)}
</users></clickhouse>`,
    { mode: 0o600 },
  );
  await writeFile(
    config,
    `<clickhouse><users_config>${users}</users_config><listen_host>127.0.0.1</listen_host><http_port>${port}</http_port>
<timezone>UTC</timezone>${limited === undefined ? '' : strict}${
      member === undefined ? '' : `<tcp_port>${member.tcpPort}</tcp_port>${member.elements}`
    }<max_server_memory_usage>1500000000</max_server_memory_usage><mark_cache_size>67108864</mark_cache_size>
<user_files_path>${join(dir, 'files')}</user_files_path></clickhouse>`,
    { mode: 0o600 },
  );
  return config;
}

export async function startPlainEngine(limited?: LimitedUser, member?: ClusterMember): Promise<PlainEngine> {
  const dir = await mkdtemp(join(tmpdir(), 'auditlog-plain-'));
  const data = join(dir, 'data');
  await mkdir(data);
  const library = await findEngineLibrary();
  const port = await freePort();
  const password = member?.password ?? randomBytes(16).toString('hex');
  const config = await writeConfig(dir, port, password, limited, member);
  // HTTP last: what answers a ping listens on both, and an engine that cannot ends.
  const listen = `${member === undefined ? '' : 'SYSTEM START LISTEN TCP; '}SYSTEM START LISTEN HTTP; `;
  const url = `http://127.0.0.1:${port}`;
  const program = programOf('storage/engine-child');
  let child: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();

  const spawnEngine = () => {
    const started = spawn(
      process.execPath,
      [...program, library, `--config-file=${config}`, `--path=${data}`, `--query=${listen}${keeper}`],
      { cwd: data, env: { TZ: 'UTC', ...member?.environment }, stdio: ['pipe', 'ignore', 'ignore'] },
    );
    child = started;
    gone = new Promise((resolve) => started.once('close', () => resolve()));
  };
  const start = async () => {
    spawnEngine();
    await eventually('the plain engine to answer', async () => {
      const answer = await call(`${url}/ping`, { timeoutMs: 1000 }).catch(() => undefined);
      if (answer?.status === 200) return true;
      // A port that was free while it was away may have been taken for a moment, by a connection of anybody.
      if (child?.exitCode !== null || child.signalCode !== null) spawnEngine();
      return undefined;
    });
  };
  const kill = async () => {
    child?.kill('SIGKILL');
    await gone;
  };
  await start();
  for (const database of limited?.databases ?? []) {
    const headers = { 'x-clickhouse-user': user, 'x-clickhouse-key': password };
    const made = await call(url, { method: 'POST', headers, body: `CREATE DATABASE ${database}` });
    if (made.status !== 200) throw new Error(made.text);
  }
  const clientUser = limited === undefined ? user : limitedUser;
  return {
    url,
    port,
    user: clientUser,
    password,
    env: { CLICKHOUSE_URL: url, CLICKHOUSE_USER: clientUser, CLICKHOUSE_PASSWORD: password },
    start,
    kill,
    stopAtExit: () => {
      child?.unref();
      if (child?.stdin instanceof Socket) child.stdin.unref();
      process.on('exit', () => {
        child?.kill('SIGKILL');
        rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      });
    },
    stop: async () => {
      await kill();
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
