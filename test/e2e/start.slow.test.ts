import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { startEmbeddedEngine } from '../../src/storage/engine.ts';
import { cliCommand } from '../support/cli-command.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createOrganization,
  createTenant,
  runCli,
  runCliHere,
  sourceEvent,
  startServer,
} from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { projectRoot } from '../support/project-root.ts';

/** On a quiet machine; the test prints the measured time. */
const coldStartMsMax = 6000;

test('a cold start in a directory that is not there serves within seconds', async (context) => {
  const parent = await temporaryDirectory();
  const dataDir = join(parent, 'new', 'data');
  const server = await startServer({ dataDir });
  try {
    const listening = performance.now();
    const ready = await eventually('the server to be ready', async () => {
      const answer = await call(`${server.url}/readyz`).catch(() => undefined);
      return answer?.status === 200 ? performance.now() : undefined;
    });
    const ms = server.startedInMs + ready - listening;
    context.diagnostic(`cold start to the first 200: ${ms.toFixed(0)} ms`);
    assert.ok(ms < patience(coldStartMsMax), `${ms.toFixed(0)} ms`);
    // Files are private, and engine.json exists while the engine runs.
    const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    assert.equal(await mode(dataDir), '700');
    assert.equal(await mode(join(dataDir, 'engine.json')), '600');
    assert.ok(server.enginePid());
    assert.equal(await server.stop(), 0);
    assert.equal(server.enginePid(), undefined);
  } finally {
    await server.stop();
    await removeDirectory(parent);
  }
});

test('an unsupported Node release is reported in one line, before anything else is loaded', () => {
  const outcome = (version: string, program: readonly string[]): number | null => {
    // tsx has read the version before; our entry reads the fake one.
    const fake = `Object.defineProperty(process, 'version', { value: 'v${version}' })`;
    const loader = ['--import', `data:text/javascript,${encodeURIComponent(fake)}`];
    const args = [...program.slice(0, -1), ...loader, ...program.slice(-1), 'org', '--help'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: projectRoot,
      encoding: 'utf8',
    });
    if (status === 2) {
      assert.match(stderr, /^auditlog: Node\.js v[\d.]+ .*20\.19.*22\.12.*24.*\n$/);
      assert.ok(stderr.includes(version), stderr);
      assert.equal(stdout, '');
    }
    return status;
  };
  // `platform.test.ts` tests the releases, this test whether the program checks.
  assert.deepEqual(
    ['20.18.3', '22.99.0'].map((version) => outcome(version, cliCommand)),
    [2, 0],
  );
  // The check of the scripts in package.json, before they load tsx or build.
  assert.equal(outcome('23.0.0', ['src/check-platform.js']), 2);
});

test('too few open files are reported with the limit and the need, before anything is made', async () => {
  const dataDir = await temporaryDirectory();
  try {
    for (const command of [['serve'], ['org', 'list']]) {
      const limited = spawnSync(
        'sh',
        ['-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, ...cliCommand, ...command],
        {
          cwd: projectRoot,
          env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
          encoding: 'utf8',
          timeout: 30_000,
        },
      );
      assert.equal(limited.status, 2, limited.stderr);
      assert.match(limited.stderr, /^auditlog: the limit of open files is 256 .*at least 1024 are needed\n$/);
    }
    assert.deepEqual(await readdir(dataDir), []);
  } finally {
    await removeDirectory(dataDir);
  }
});

test('a server waits for a command that runs the engine, and names its process', async () => {
  const dataDir = await temporaryDirectory();
  const log = pino({ level: 'silent' });
  const engine = await startEmbeddedEngine({ dataDir, database: 'audit', log, unannounced: true });
  let told = '';
  const server = spawn(process.execPath, [...cliCommand, 'serve'], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', WORKERS: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(server, 'exit');
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const line = (words: string) =>
    eventually(words, async () => told.split('\n').find((one) => one.includes(words)), 30_000);
  try {
    const waiting = JSON.parse(await line('waiting until it ends')) as { pid: number; waitMsMax: number };
    assert.equal(waiting.pid, process.pid);
    assert.ok(waiting.waitMsMax >= 30_000, 'longer than commands take');
    await engine.stop();
    await line('"listening"');
    server.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null], told);
  } finally {
    server.kill('SIGKILL');
    await engine.stop();
    await ended;
    await removeDirectory(dataDir);
  }
});

describe('beside a server that runs', () => {
  const service = keptService();

  test('a copy of the directory of a running server is a directory of its own', async () => {
    const { server } = service;
    const parent = await temporaryDirectory();
    const copy = join(parent, 'copy');
    try {
      // The server may remove a file meanwhile, which `cp` reports; other errors are failures.
      const { stderr } = spawnSync('cp', ['-a', server.dataDir, copy], { encoding: 'utf8' });
      const failures = stderr.split('\n').filter((line) => !/^$|No such file or directory$/.test(line));
      assert.deepEqual(failures, []);
      const create = ['org', 'create', '--slug', 'only-in-copy', '--name', 'x', '--json'];
      const created = await runCli(create, { dataDir: copy });
      assert.equal(created.code, 0, created.stderr);
      // The original's engine has a second to report its directory. On a busy machine it may not.
      let told = created.stderr;
      await eventually('a command to tell of the copied engine.json', async () => {
        if (/engine\.json belongs to another data directory/.test(told)) return true;
        await copyFile(join(server.dataDir, 'engine.json'), join(copy, 'engine.json'));
        told = (await runCli(['org', 'list'], { dataDir: copy })).stderr;
        return undefined;
      });
      await createOrganization(server, 'only-in-original');
      const slugs = async (dataDir: string) => {
        const { stdout } = await runCliHere(['org', 'list', '--json'], { dataDir });
        return (JSON.parse(stdout) as { slug: string }[]).map(({ slug }) => slug);
      };
      assert.deepEqual(await slugs(copy), ['only-in-copy']);
      assert.deepEqual(await slugs(server.dataDir), ['only-in-original']);
    } finally {
      await removeDirectory(parent);
    }
  });

  test('an unknown key id gets a different message from a wrong secret', async () => {
    const tenant = await createTenant(service.server, 'keys');
    const refusal = async (key: string) => {
      const { status, text } = await tenant.with({ key }).get();
      return { status, detail: (JSON.parse(text) as { detail: string }).detail };
    };
    const usual = 'Missing or invalid API key; send it in X-API-Key or as Authorization: Bearer.';
    const hint = ' The id of this key is unknown; the key may belong to another installation.';
    const wrongSecret = `${tenant.key.slice(0, -43)}${'A'.repeat(43)}`;
    assert.deepEqual(await refusal(wrongSecret), { status: 401, detail: usual });
    const elsewhere = `ak_${'0'.repeat(16)}_${'A'.repeat(43)}`;
    assert.deepEqual(await refusal(elsewhere), { status: 401, detail: `${usual}${hint}` });
    assert.deepEqual(await refusal('ak_x'), { status: 401, detail: usual });
  });

  test('a second server on the same directory or port exits with 1 and the reason', async () => {
    const { server } = service;
    const elsewhere = await temporaryDirectory();
    try {
      const tenant = await createTenant(server, 'first');
      await tenant.record([sourceEvent()]);
      const directory = await runCli(['serve'], { dataDir: server.dataDir });
      assert.equal(directory.code, 1, directory.stderr);
      assert.match(directory.stderr, /another process uses/i);
      const onItsPort = { dataDir: elsewhere, env: { PORT: String(server.port) } };
      const port = await runCli(['serve'], onItsPort);
      assert.equal(port.code, 1, port.stderr);
      assert.match(port.stderr, new RegExp(`port ${server.port}: the port is in use`));
      assert.equal(existsSync(join(elsewhere, 'engine')), false, 'the engine was started first');
      // The first server is unharmed.
      await tenant.record([sourceEvent()]);
      await tenant.settled(2);
      assert.ok(server.enginePid());
    } finally {
      await removeDirectory(elsewhere);
    }
  });
});
