import { strict as assert } from 'node:assert';
import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import {
  createTenant,
  removeDirectory,
  runCli,
  sourceEvent,
  startServer,
  temporaryDirectory,
} from '../support/server.ts';
import { patience } from '../support/patience.ts';

/** On a quiet machine; the figure itself is printed. */
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
    // What lies there is for its owner only, and engine.json is there as long as the engine runs.
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

test('a bad setting ends the start with 2 and one line naming variable, value and what is allowed', async () => {
  const cases: readonly [name: string, value: string][] = [
    ['PORT', 'eighty'],
    ['FLUSH_INTERVAL', '5 parsecs'],
    ['RATE_LIMIT_AUDIT', 'many'],
    ['TRUST_PROXY', '-1'],
    ['DEPLOYMENT', 'moon'],
    ['WORKERS', '0'],
  ];
  const dataDir = await temporaryDirectory();
  try {
    await Promise.all(
      cases.map(async ([name, value]) => {
        const answer = await runCli(['serve'], { dataDir, env: { [name]: value } });
        assert.equal(answer.code, 2, `${name}: ${answer.stderr}`);
        const lines = answer.stderr.split('\n');
        assert.equal(lines.length, 1, answer.stderr);
        assert.ok(lines[0]?.includes(name) && lines[0].includes(value), answer.stderr);
        assert.ok(answer.stderr.length > name.length + value.length + 10, answer.stderr);
        assert.equal(answer.stdout, '');
      }),
    );
  } finally {
    await removeDirectory(dataDir);
  }
});

test('a DATA_DIR that others can read and that is not the service’s own ends the start with 2', async () => {
  const dataDir = await temporaryDirectory();
  try {
    await writeFile(join(dataDir, 'letter.txt'), 'x');
    await chmod(dataDir, 0o755);
    for (const args of [['serve'], ['org', 'list']]) {
      const answer = await runCli(args, { dataDir });
      assert.equal(answer.code, 2, answer.stderr);
      assert.equal(answer.stderr.split('\n').length, 1, answer.stderr);
      assert.match(answer.stderr, /DATA_DIR is .* mode 0755/);
    }
    assert.deepEqual(await readdir(dataDir), ['letter.txt']);
  } finally {
    await removeDirectory(dataDir);
  }
});

test('a second server on the same directory, or on the same port, ends with 1 and says why', async () => {
  const server = await startServer();
  const elsewhere = await temporaryDirectory();
  try {
    const tenant = await createTenant(server, 'first');
    await tenant.record([sourceEvent()]);
    const directory = await runCli(['serve'], { dataDir: server.dataDir });
    assert.equal(directory.code, 1, directory.stderr);
    assert.match(directory.stderr, /another process uses/i);
    const port = await runCli(['serve'], { dataDir: elsewhere, env: { PORT: String(server.port) } });
    assert.equal(port.code, 1, port.stderr);
    assert.ok(port.stderr.includes(String(server.port)), port.stderr);
    // The first one has not been harmed.
    await tenant.record([sourceEvent()]);
    await tenant.settled(2);
    assert.ok(server.enginePid());
  } finally {
    await server.stop();
    await removeDirectory(elsewhere);
  }
});
