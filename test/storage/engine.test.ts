import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { lockDirectory } from '../../src/base/files/directory-lock.ts';
import { StopStack } from '../../src/base/processes/stop-stack.ts';
import type { Logger } from '../../src/base/observability/log.ts';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { openStorage } from '../../src/storage/client.ts';
import { readEngineFile } from '../../src/storage/engine-file.ts';
import { DataDirLockedError } from '../../src/storage/engine-process.ts';
import { limits } from '../../src/storage/limits.ts';
import { reachStorage } from '../../src/storage/open-storage.ts';
import { startEmbeddedEngine } from '../../src/storage/engine.ts';
import type { EmbeddedEngine } from '../../src/storage/engine.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { patience } from '../support/patience.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { isAlive } from '../support/server.ts';

let dataDir: string;
let engine: EmbeddedEngine;
let startMs: number;
const logged: string[] = [];

const record = (facts: object, words: string): void => {
  logged.push(`${words} ${JSON.stringify(facts)}`);
};
const recordingLog: Logger = { debug: record, info: record, warn: record, error: record };

before(async () => {
  dataDir = await temporaryDirectory();
  const startedAt = performance.now();
  engine = await startEmbeddedEngine({ dataDir, database: 'audit', log: recordingLog });
  startMs = performance.now() - startedAt;
});
after(async () => {
  await engine.stop();
  await removeDirectory(dataDir);
});

const waitUntil = (what: string, condition: () => boolean | Promise<boolean>) =>
  eventually(what, async () => (await condition()) || undefined, 10_000, 25);

interface Ask {
  readonly sql?: string;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

async function ask({
  sql = 'SELECT 1',
  headers = {},
  path = '/',
}: Ask): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${engine.connection.url}${path}`, { method: 'POST', body: sql, headers });
  return { status: answer.status, text: await answer.text() };
}

function basic(user: string, password: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

test('it starts fast and says where it is, to its owner only', async () => {
  // About half a second on an idle machine.
  assert.ok(startMs < patience(3000), `${startMs} ms`);
  assert.notEqual(engine.pid(), undefined);
  const file = join(dataDir, 'engine.json');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(join(dataDir, 'engine'))).mode & 0o777, 0o700);
  const content = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  assert.deepEqual(Object.keys(content).sort(), ['database', 'headers', 'password', 'pid', 'url', 'user']);
  assert.deepEqual(content, { ...engine.connection, pid: engine.pid() });
  assert.deepEqual(await readEngineFile(dataDir), { ...engine.connection, pid: engine.pid() });
});

test('it starts also where the clock is set right meanwhile', async (t) => {
  const other = await temporaryDirectory();
  t.after(() => removeDirectory(other));
  let now = Date.now();
  t.mock.method(Date, 'now', () => (now += limits.engineStartMsMax));
  const started = await startEmbeddedEngine({ dataDir: other, database: 'audit', log: silentLog });
  await started.stop();
});

test('nothing secret is in arguments, environment, leftover files or the log', async () => {
  const secrets = [engine.connection.password, ...Object.values(engine.connection.headers)];
  for (const secret of secrets) assert.ok(secret.length >= 43);
  const texts = [...logged];
  if (process.platform === 'linux') {
    for (const name of ['cmdline', 'environ'])
      texts.push(await readFile(`/proc/${engine.pid()}/${name}`, 'utf8'));
  }
  for (const text of texts) for (const secret of secrets) assert.equal(text.includes(secret), false);
  const names = await readdir(join(dataDir, 'engine'));
  assert.deepEqual(
    names.filter((name) => name.endsWith('.xml')),
    [],
  );
});

test('without the header there is nothing, not even for those who know the password', async () => {
  const password = basic(engine.connection.user, engine.connection.password);
  for (const path of '/ /ping /?query=SELECT+1 /play /dashboard /replicas_status /metrics'.split(' ')) {
    const answer = await ask({ headers: password, path });
    assert.equal(answer.status, 404, path);
  }
  const wrong = await ask({ headers: { ...password, 'X-Engine-Token': 'x' } });
  assert.equal(wrong.status, 404);
});

test('with the header but without the password everything is refused', async () => {
  const { headers, user } = engine.connection;
  const secretFile = join(dataDir, 'engine', 'user_files');
  for (const sql of [
    'SELECT 1',
    `SELECT file('${secretFile}')`,
    'SYSTEM STOP LISTEN HTTP',
    'CREATE DATABASE x',
  ]) {
    for (const identity of [
      {},
      basic('default', ''),
      basic('default', 'x'),
      basic(user, ''),
      basic(user, 'x'),
      { 'X-ClickHouse-User': 'default' },
      { 'X-ClickHouse-User': user, 'X-ClickHouse-Key': '' },
    ]) {
      for (const path of '/ /?user=default /?session_id=a /?max_sessions_for_user=0 /?profile=default'.split(
        ' ',
      )) {
        const answer = await ask({ sql, headers: { ...headers, ...identity }, path });
        assert.notEqual(answer.status, 200, `${sql} ${JSON.stringify(identity)} ${path}`);
        assert.match(answer.text, /Code: (700|516|194|193|192)\b/, answer.text);
      }
    }
  }
  assert.equal((await readEngineFile(dataDir))?.pid, engine.pid());
});

test('it listens on loopback only', async () => {
  const { port } = new URL(engine.connection.url);
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((address) => !address.internal && address.family === 'IPv4');
  for (const { address } of others) {
    await assert.rejects(fetch(`http://${address}:${port}/`, { signal: AbortSignal.timeout(2000) }));
  }
});

test('signals of a terminal or a service manager leave the decision to the parent', async () => {
  const pid = engine.pid() ?? 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
  await sleep(300);
  assert.equal(engine.pid(), pid);
  assert.equal((await readEngineFile(dataDir))?.pid, pid);
});

test('a command waits for the engine of a server that has none just now, and starts none in its place', async () => {
  const served = await temporaryDirectory();
  const lock = await lockDirectory(served, 'server');
  const stops = new StopStack(silentLog);
  const clickhouse = { otherUrls: [], user: '', password: '', database: 'audit' };
  const none = { url: undefined, cluster: undefined };
  const reached = reachStorage({
    dataDir: served,
    clickhouse: { ...clickhouse, ...none },
    log: silentLog,
    stops,
  });
  try {
    assert.equal(await Promise.race([reached, sleep(1000, 'waits')]), 'waits');
    assert.equal(existsSync(join(served, 'engine')), false);
    const itsEngine = await startEmbeddedEngine({ dataDir: served, database: 'audit', log: silentLog });
    stops.add(() => itsEngine.stop());
    assert.equal((await reached).isShared, true);
  } finally {
    await stops.run();
    await lock.release();
    await removeDirectory(served);
  }
});

test('stopped, it is named to whoever wants the directory', {
  skip: process.platform === 'linux' ? false : 'the system does not tell who holds a lock',
}, async () => {
  const pid = engine.pid() ?? 0;
  const start = () => startEmbeddedEngine({ dataDir, database: 'audit', log: silentLog });
  process.kill(pid, 'SIGSTOP');
  try {
    // Its threads stop one after the other.
    await waitUntil('it is stopped', async () => (await readEngineFile(dataDir)) === undefined);
    const words = `Another process uses DATA_DIR ${dataDir}: its engine, process ${pid}, was stopped by a signal`;
    await assert.rejects(start(), (error) => {
      assert.ok(error instanceof DataDirLockedError);
      assert.ok(error.message.startsWith(words), error.message);
      return true;
    });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await waitUntil('it answers again', async () => (await readEngineFile(dataDir))?.pid === pid);
});

test('killed, it comes back to the same address with its data', async () => {
  const storage = openStorage(engine.connection, silentLog);
  await storage.command('CREATE DATABASE IF NOT EXISTS audit', {}, { settings: { database: 'default' } });
  await storage.command('CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n');
  await storage.insertRows('kept', [{ n: 1 }, { n: 2 }]);
  const stream = toReadable(await storage.flow('SELECT number FROM numbers(100000000000) FORMAT TSV'));
  const cut = assert.rejects(async () => {
    for await (const part of stream as AsyncIterable<Buffer>) assert.ok(part.length > 0);
  }, EngineError);

  const pid = engine.pid() ?? 0;
  process.kill(pid, 'SIGKILL');
  await cut;
  await waitUntil('the end is noticed', () => engine.pid() !== pid);
  await waitUntil('it is back', () => engine.pid() !== undefined);
  assert.equal(engine.restarts(), 1);
  assert.notEqual(engine.pid(), pid);
  assert.deepEqual(await readEngineFile(dataDir), { ...engine.connection, pid: engine.pid() });
  assert.deepEqual(await storage.rows('SELECT n FROM kept ORDER BY n'), [{ n: '1' }, { n: '2' }]);
  assert.ok(logged.some((line) => line.includes('ended unexpectedly') && line.includes('SIGKILL')));
  await storage.close();
});

test('it comes back where a full disk has cut the file of a mutation short, which the log tells', async () => {
  const storage = openStorage({ ...engine.connection, database: 'default' }, silentLog);
  await storage.command('CREATE TABLE cut (n UInt64) ENGINE = MergeTree ORDER BY n');
  await storage.insertRows('cut', [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const remove = (n: number | string): Promise<void> =>
    storage.command(`ALTER TABLE cut DELETE WHERE n = ${n}`, {}, { settings: { mutations_sync: 2 } });
  await remove(1);
  await remove(2);
  const [table] = await storage.rows<{ path: string }>(
    "SELECT data_paths[1] AS path FROM system.tables WHERE name = 'cut'",
  );
  const folder = table?.path ?? '';
  await remove("4 AND 'a\u2028b' != ''");
  const mutations = async () => (await readdir(folder)).filter((name) => name.startsWith('mutation_')).sort();
  const [one = '', other = '', ...others] = await mutations();
  await truncate(join(folder, one), 0);
  await truncate(join(folder, other), 70);
  // Somebody's, such as file managers leave.
  const foreign = join(folder, '..', '..', '.DS_Store');
  await writeFile(foreign, '');

  const pid = engine.pid() ?? 0;
  process.kill(pid, 'SIGKILL');
  await waitUntil('the end is noticed', () => engine.pid() !== pid);
  await waitUntil('it is back', () => engine.pid() !== undefined);
  assert.deepEqual(await storage.rows('SELECT n FROM cut'), [{ n: '3' }]);
  assert.deepEqual(await mutations(), others);
  assert.equal(others.length, 1);
  await remove(3);
  assert.deepEqual(await storage.rows('SELECT n FROM cut'), []);
  assert.ok(logged.some((line) => line.includes('mutations') && line.includes(one) && line.includes(other)));
  await storage.command('DROP TABLE cut SYNC');
  await storage.close();
  await rm(foreign);
});

test('it goes on trying while its port is taken, and stops when told', async () => {
  const directory = await temporaryDirectory();
  const other = await startEmbeddedEngine({ dataDir: directory, database: 'audit', log: silentLog });
  const port = Number(new URL(other.connection.url).port);
  const pid = other.pid() ?? 0;
  process.kill(pid, 'SIGKILL');
  await waitUntil('the end is noticed', () => other.pid() === undefined);
  const thief = createServer((socket) => socket.destroy());
  thief.listen(port, '127.0.0.1');
  await once(thief, 'listening');
  await sleep(800);
  assert.equal(other.pid(), undefined);
  thief.close();
  await waitUntil('it is back', () => other.pid() !== undefined);
  process.kill(other.pid() ?? 0, 'SIGKILL');
  await waitUntil('the end is noticed', () => other.pid() === undefined);
  const stopAt = performance.now();
  await other.stop();
  assert.ok(performance.now() - stopAt < patience(1_250));
  assert.equal(other.pid(), undefined);
  await rm(directory, { recursive: true });
});

test('it stops cleanly, twice if asked, and takes its file along', async () => {
  const directory = await temporaryDirectory();
  const other = await startEmbeddedEngine({ dataDir: directory, database: 'audit', log: silentLog });
  const pid = other.pid() ?? 0;
  const stopAt = performance.now();
  await Promise.all([other.stop(), other.stop()]);
  assert.ok(performance.now() - stopAt < patience(2_500));
  assert.equal(isAlive(pid), false);
  assert.equal(await readEngineFile(directory), undefined);
  await assert.rejects(stat(join(directory, 'engine.json')));
  await rm(directory, { recursive: true });
});

test('it does not outlive a parent that was killed, and its stale file is not believed', async () => {
  const directory = await temporaryDirectory();
  const program = fileURLToPath(new URL('./engine-parent.ts', import.meta.url));
  const parent = spawn(process.execPath, ['--import', 'tsx', program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString('utf8'));
  assert.ok(isAlive(pid));
  assert.equal((await readEngineFile(directory))?.pid, pid);
  parent.kill('SIGKILL');
  await waitUntil('the engine has ended too', () => !isAlive(pid));
  assert.ok((await stat(join(directory, 'engine.json'))).isFile());
  assert.equal(await readEngineFile(directory), undefined);

  const next = await startEmbeddedEngine({ dataDir: directory, database: 'audit', log: silentLog });
  assert.equal((await readEngineFile(directory))?.pid, next.pid());
  await next.stop();
  await rm(directory, { recursive: true });
});

test('a partition that takes nothing any more is merged to one part, however few parts it has', async () => {
  const storage = openStorage({ ...engine.connection, database: 'default' }, silentLog);
  const [row] = await storage.rows<{ seconds: string }>(
    "SELECT value AS seconds FROM system.merge_tree_settings WHERE name = 'min_age_to_force_merge_seconds'",
  );
  assert.equal(Number(row?.seconds), limits.quietPartitionSeconds);
  // Sooner than in two days; all else is as the service's tables have it.
  await storage.command(
    'CREATE TABLE months (month UInt8, n UInt64) ENGINE = MergeTree PARTITION BY month ORDER BY n ' +
      'SETTINGS min_age_to_force_merge_seconds = 1, merge_selecting_sleep_ms = 100',
  );
  const inserts = [1, 100, 10_000].flatMap((rows) => [1, 2].map((month) => ({ month, rows })));
  for (const { month, rows } of inserts)
    await storage.command(`INSERT INTO months SELECT ${month}, number FROM numbers(${rows})`);
  const parts = "SELECT count() AS parts FROM system.parts WHERE table = 'months' AND active";
  await waitUntil('each month is one part', async () => {
    const [found] = await storage.rows<{ parts: string }>(parts);
    return found?.parts === '2';
  });
  await storage.close();
});

test('mutations, which sleep most of the time, leave a thread to merges', async () => {
  const storage = openStorage({ ...engine.connection, database: 'default' }, silentLog);
  const number = async (query: string): Promise<number> =>
    Number((await storage.rows<{ n: string }>(query))[0]?.n);
  const parts = 16;
  await storage.command(
    `CREATE TABLE mutated (part UInt8, text String) ENGINE = MergeTree PARTITION BY part ORDER BY () AS
       SELECT number % ${parts} AS part, randomString(1000) AS text FROM numbers(${parts} * 1500)`,
  );
  const threads = await number(
    "SELECT toUInt64(value) AS n FROM system.server_settings WHERE name = 'background_pool_size'",
  );
  const underWay = "SELECT count() AS n FROM system.merges WHERE table = 'mutated' AND is_mutation";
  const left = "SELECT sum(parts_to_do) AS n FROM system.mutations WHERE table = 'mutated'";
  let most = 0;
  // All of one take some seconds, but for a test that is kept waiting: enough of these to see as many at once as there are.
  for (const letter of ['a', 'b', 'c', 'd']) {
    await storage.command(
      `ALTER TABLE mutated DELETE WHERE startsWith(text, '${letter}')`,
      {},
      { settings: { mutations_sync: 0 } },
    );
    while ((await number(left)) > parts / 2) most = Math.max(most, await number(underWay));
    if (most > 0) break;
    await waitUntil('its parts are rewritten', async () => (await number(left)) === 0);
  }
  assert.ok(most >= 1 && most < threads, `${most} mutations on ${threads} threads`);
  await storage.command('DROP TABLE mutated SYNC');
  await storage.close();
});

test('an engine that is busy is believed to be there', async (t) => {
  const busy = createHttpServer((_, response) => {
    setTimeout(() => response.end(join(dataDir, 'engine')), 2_000);
  });
  busy.listen(0, '127.0.0.1');
  await once(busy, 'listening');
  const directory = await temporaryDirectory();
  t.after(async () => {
    busy.close();
    await removeDirectory(directory);
  });
  const { port } = busy.address() as AddressInfo;
  const file = { ...engine.connection, url: `http://127.0.0.1:${port}`, pid: process.pid };
  await writeFile(join(directory, 'engine.json'), JSON.stringify(file));
  await symlink(join(dataDir, 'engine'), join(directory, 'engine'));
  assert.equal((await readEngineFile(directory))?.pid, process.pid);
});

test('a file that is not what it should be is not believed', async () => {
  const directory = await temporaryDirectory();
  assert.equal(await readEngineFile(directory), undefined);
  const good = { ...engine.connection, pid: process.pid };
  const bad = [
    '',
    '[]',
    'null',
    '{}',
    { ...good, pid: 'x' },
    { ...good, headers: { a: 1 } },
    { ...good, password: 'x' },
  ];
  for (const content of bad) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(directory, 'engine.json'), text);
    assert.equal(await readEngineFile(directory), undefined, text.slice(0, 20));
  }
  await rm(directory, { recursive: true });
});
