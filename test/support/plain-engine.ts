import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findEngineLibrary } from '../../src/storage/engine-process.ts';
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
  /** The variables that make a server use it. */
  readonly env: Readonly<Record<string, string>>;
  /** SIGKILL, resolved once it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data, after `kill`. */
  start(): Promise<void>;
  /** `kill`, then removes the data. */
  stop(): Promise<void>;
}

const user = 'audit';
const keeper =
  'SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM numbers(100000000) ' +
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

async function writeConfig(dir: string, port: number, password: string): Promise<string> {
  const hash = createHash('sha256').update(password).digest('hex');
  const users = join(dir, 'users.xml');
  const config = join(dir, 'config.xml');
  await writeFile(
    users,
    `<clickhouse><profiles><default/><local><max_sessions_for_user>1</max_sessions_for_user></local></profiles>
<quotas><default/></quotas><users>
<default><no_password/><networks><ip>127.0.0.1</ip></networks><profile>local</profile><quota>default</quota><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>
<${user}><password_sha256_hex>${hash}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><access_management>1</access_management></${user}>
</users></clickhouse>`,
    { mode: 0o600 },
  );
  await writeFile(
    config,
    `<clickhouse><users_config>${users}</users_config><listen_host>127.0.0.1</listen_host><http_port>${port}</http_port>
<timezone>UTC</timezone><max_server_memory_usage>1500000000</max_server_memory_usage><mark_cache_size>67108864</mark_cache_size>
<user_files_path>${join(dir, 'files')}</user_files_path></clickhouse>`,
    { mode: 0o600 },
  );
  return config;
}

export async function startPlainEngine(): Promise<PlainEngine> {
  const dir = await mkdtemp(join(tmpdir(), 'auditlog-plain-'));
  const data = join(dir, 'data');
  await mkdir(data);
  const library = await findEngineLibrary();
  const port = await freePort();
  const password = randomBytes(16).toString('hex');
  const config = await writeConfig(dir, port, password);
  const url = `http://127.0.0.1:${port}`;
  const program = fileURLToPath(new URL('../../src/storage/engine-child.ts', import.meta.url));
  let child: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();

  const start = async () => {
    const started = spawn(
      process.execPath,
      [
        '--import',
        import.meta.resolve('tsx'),
        program,
        library,
        `--config-file=${config}`,
        `--path=${data}`,
        `--query=${keeper}`,
      ],
      { cwd: data, env: { TZ: 'UTC' }, stdio: ['pipe', 'ignore', 'ignore'] },
    );
    child = started;
    gone = new Promise((resolve) => started.once('close', () => resolve()));
    await eventually('the plain engine to answer', async () => {
      const answer = await call(`${url}/ping`, { timeoutMs: 1000 }).catch(() => undefined);
      return answer?.status === 200 || undefined;
    });
  };
  const kill = async () => {
    child?.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    url,
    port,
    user,
    password,
    env: { CLICKHOUSE_URL: url, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password },
    start,
    kill,
    stop: async () => {
      await kill();
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
