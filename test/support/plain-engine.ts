import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { findEngineLibrary } from '../../src/storage/engine-process.ts';
import { programOf } from './cli-command.ts';
import { removeDirectory, temporaryDirectory } from './directories.ts';
import { call, eventually } from './http.ts';

/**
 * The embedded engine as an ordinary server, with a URL, user and password. It replaces a ClickHouse server where
 * no image can run. If it crashes it is restarted: 26.7 sometimes ends with an uncaught exception when a killed
 * engine's connection is reset.
 */
export interface PlainEngine {
  readonly url: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** A user with all rights and the same password. */
  readonly owner: string;
  /** The environment of a server that uses it, as the limited user if there is one. */
  readonly env: Readonly<Record<string, string>>;
  /** SIGKILL, resolved once it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data, after `kill`. */
  start(): Promise<void>;
  /** Removes its data after `kill`. */
  forget(): Promise<void>;
  /** `kill`, then removes the data. */
  stop(): Promise<void>;
  /** Also when this process ends, which the engine does not prevent. */
  stopAtExit(): void;
}

/** Makes an engine one of a cluster: a port for the others, and the shared configuration. */
export interface ClusterMember {
  readonly tcpPort: number;
  readonly password: string;
  /** Configuration elements: `remote_servers`, `macros`. */
  readonly elements: string;
  /** Environment that these elements use. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A module that its process loads first. */
  readonly preload?: string;
}

/** A user other than the owner: grants and databases. */
export interface LimitedUser {
  readonly databases: readonly string[];
  readonly grants: readonly string[];
}

const user = 'audit';
const limitedUser = 'limited';
const restartDelayMs = 100;
const keeper =
  'SELECT sleepEachRow(1) FROM numbers(100000000) ' +
  'SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null';

/** A port that was just free: `wanted` if possible. */
export function freePort(wanted = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => (wanted === 0 ? reject(error) : resolve(freePort())));
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Refuses everything that the documents do not name: every optional grant is required. */
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

/** A process that restarts unless killed. */
class KeptChild {
  readonly #spawn: () => ChildProcess;
  #child: ChildProcess | undefined;
  #gone: Promise<void> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #isWanted = false;
  #isReleased = false;
  #ends: string[] = [];

  constructor(spawnChild: () => ChildProcess) {
    this.#spawn = spawnChild;
  }

  /** Its own exits, in words. */
  get ends(): string {
    return `ended by itself ${this.#ends.length} times ${this.#ends.slice(-5).join(', ')}`;
  }

  start(): void {
    this.#isWanted = true;
    const child = this.#spawn();
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve();
        if (!this.#isWanted) return;
        this.#ends.push(String(code ?? signal));
        this.#again = setTimeout(() => this.start(), restartDelayMs);
        if (this.#isReleased) this.#again.unref();
      });
    });
    if (this.#isReleased) this.release();
  }

  /** Resolves once it is gone for good. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    clearTimeout(this.#again);
    this.#child?.kill('SIGKILL');
    await this.#gone;
  }

  /** This process may end before it. */
  release(): void {
    this.#isReleased = true;
    this.#child?.unref();
    if (this.#child?.stdin instanceof Socket) this.#child.stdin.unref();
  }
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
<backups><allowed_path>/</allowed_path></backups><user_files_path>${join(dir, 'files')}</user_files_path></clickhouse>`,
    { mode: 0o600 },
  );
  return config;
}

export async function startPlainEngine(limited?: LimitedUser, member?: ClusterMember): Promise<PlainEngine> {
  const dir = await temporaryDirectory();
  const data = join(dir, 'data');
  await mkdir(data);
  const library = await findEngineLibrary();
  const port = await freePort();
  const password = member?.password ?? randomBytes(16).toString('hex');
  const config = await writeConfig(dir, port, password, limited, member);
  // HTTP last: an answered ping means that it listens on both, and an engine that can stop.
  const listen = `${member === undefined ? '' : 'SYSTEM START LISTEN TCP; '}SYSTEM START LISTEN HTTP; `;
  const url = `http://127.0.0.1:${port}`;
  const preloaded = member?.preload === undefined ? [] : ['--import', member.preload];
  const program = [...preloaded, ...programOf('storage/engine-child')];
  const output = await open(join(dir, 'output'), 'w');
  const engine = new KeptChild(() =>
    spawn(
      process.execPath,
      [...program, library, `--config-file=${config}`, `--path=${data}`, `--query=${listen}${keeper}`],
      { cwd: data, env: { TZ: 'UTC', ...member?.environment }, stdio: ['pipe', output.fd, output.fd] },
    ),
  );
  const start = async () => {
    engine.start();
    try {
      await eventually(`the engine at ${url} to answer`, async () => {
        const answer = await call(`${url}/ping`, { timeoutMs: 1000 }).catch(() => undefined);
        return answer?.status === 200 || undefined;
      });
    } catch (error) {
      await engine.kill();
      const said = (await readFile(join(dir, 'output'), 'utf8')).trim().split('\n').slice(-3);
      throw new Error([engine.ends, ...said].join('\n'), { cause: error });
    }
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
    owner: user,
    env: { CLICKHOUSE_URL: url, CLICKHOUSE_USER: clientUser, CLICKHOUSE_PASSWORD: password },
    start,
    kill: () => engine.kill(),
    forget: async () => {
      await rm(data, { recursive: true });
      await mkdir(data);
    },
    stopAtExit: () => {
      engine.release();
      process.on('exit', () => {
        void engine.kill();
        rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      });
    },
    stop: async () => {
      await engine.kill();
      await output.close();
      await removeDirectory(dir);
    },
  };
}
