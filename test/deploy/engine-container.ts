import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/http.ts';
import { removeDirectory } from '../support/directories.ts';
import { docker, hardened, type Made } from './docker.ts';

/**
 * The engine of the image `embedded` as a server for services in other containers. It replaces a ClickHouse
 * server, so these tests need no image from a registry.
 */
export interface EngineContainer {
  /** Environment of a service on the same network that uses it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const port = 8123;
const user = 'audit';
const keeper =
  'SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM numbers(100000000) ' +
  'SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null';

const users = (hash: string) => `<clickhouse>
<profiles><default/><local><max_sessions_for_user>1</max_sessions_for_user></local></profiles><quotas><default/></quotas>
<users>
<default><no_password/><networks><ip>127.0.0.1</ip></networks><profile>local</profile><quota>default</quota>
<grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>
<${user}><password_sha256_hex>${hash}</password_sha256_hex><networks><ip>::/0</ip></networks><profile>default</profile>
<quota>default</quota><access_management>1</access_management></${user}>
</users></clickhouse>`;

const config = `<clickhouse><users_config>/config/users.xml</users_config><listen_host>0.0.0.0</listen_host>
<http_port>${port}</http_port><timezone>UTC</timezone><max_server_memory_usage>1500000000</max_server_memory_usage>
<mark_cache_size>67108864</mark_cache_size><user_files_path>/data/files</user_files_path></clickhouse>`;

export async function startEngineContainer(
  made: Made,
  image: string,
  network: string,
): Promise<EngineContainer> {
  const folder = await mkdtemp(join(tmpdir(), 'auditlog-engine-'));
  const password = randomBytes(16).toString('hex');
  await writeFile(join(folder, 'users.xml'), users(createHash('sha256').update(password).digest('hex')));
  await writeFile(join(folder, 'config.xml'), config);
  // The image's user differs from the test's.
  await chmod(folder, 0o755);
  const library = await libraryOf(image);
  const place = ['--network', network, '--network-alias', 'engine', '--volume', `${folder}:/config:ro`];
  const program = ['--config-file=/config/config.xml', '--path=/data/engine', `--query=${keeper}`];
  const container = await made.start('engine', [
    // The engine ends with its standard input.
    '--interactive',
    ...hardened,
    ...place,
    '--entrypoint',
    'node',
    image,
    'dist/storage/engine-child.js',
    library,
    ...program,
  ]);
  const ping = `fetch('http://127.0.0.1:${port}/ping').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))`;
  await eventually('the engine to answer', () =>
    docker('exec', container, 'node', '--eval', ping).then(
      () => true,
      () => undefined,
    ),
  );
  return {
    env: { CLICKHOUSE_URL: `http://engine:${port}`, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password },
    stop: () => removeDirectory(folder),
  };
}

async function libraryOf(image: string): Promise<string> {
  const program = "import('chdb/libchdb').then((chdb) => console.log(chdb.libchdbPath()))";
  const { stdout } = await docker('run', '--rm', '--entrypoint', 'node', image, '--eval', program);
  return stdout.trim();
}
