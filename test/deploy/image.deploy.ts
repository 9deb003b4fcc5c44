import { strict as assert } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { sourceEvent } from '../support/server.ts';
import { builtImage, docker, exportedFiles, hardened, inspected, Made, whyNotDocker } from './docker.ts';
import { syscallFilter } from './syscall-filter.ts';

const skip = await whyNotDocker();
const MB = 1e6;

interface Running {
  readonly container: string;
  readonly url: string;
}

describe('the images', { skip }, () => {
  const made = new Made();
  let embedded = '';
  let server = '';
  before(async () => {
    embedded = await builtImage('embedded');
    server = await builtImage('server');
  });
  after(() => made.remove());

  async function serving(name: string, args: readonly string[] = []): Promise<Running> {
    const publish = ['--publish', '127.0.0.1::8080'];
    const container = await made.start(name, [...hardened, ...publish, ...args, embedded]);
    return { container, url: await untilReady(container) };
  }

  test('are small, unprivileged, and have no program but Node and the health check', async () => {
    const sizes = await Promise.all([embedded, server].map((image) => inspected(image, '{{.Size}}')));
    assert.ok(Number(sizes[0]) < 780 * MB, `embedded: ${sizes[0]}`);
    assert.ok(Number(sizes[1]) < 200 * MB, `server: ${sizes[1]}`);
    for (const image of [embedded, server])
      assert.equal(await inspected(image, '{{.Config.User}}'), '1000:1000');
    const container = made.named('files');
    await docker('create', '--name', container, server);
    try {
      const listed = await programsOf(container);
      assert.deepEqual(listed, ['usr/local/bin/healthcheck', 'usr/local/bin/node']);
    } finally {
      await docker('rm', '--volumes', container);
    }
  });

  test('the one with an engine stores, stops with 0 and has everything afterwards', async () => {
    const volume = await made.volume('data');
    const { container, url } = await serving('embedded', ['--volume', `${volume}:/data`]);
    const key = await initialized(container);
    await posted(url, key, 3);
    await eventually('three events', async () => ((await total(url, key)) === 3 ? true : undefined));
    await eventually('the health check', async () =>
      (await inspected(container, '{{.State.Health.Status}}')) === 'healthy' ? true : undefined,
    );
    await posted(url, key, 1);
    await docker('stop', '--time', '40', container);
    assert.equal(await inspected(container, '{{.State.ExitCode}}'), '0');
    await docker('start', container);
    assert.equal(await total(await untilReady(container), key), 4);
  });

  test('the one with an engine runs as a number that has no name', async () => {
    const user = ['--user', '54321:54321', '--tmpfs', '/data:uid=54321,mode=700'];
    const { container, url } = await serving('nameless', user);
    const key = await initialized(container);
    await posted(url, key, 1);
    await eventually('the event', async () => ((await total(url, key)) === 1 ? true : undefined));
  });

  test('the health check fails where nothing answers, and where what answers is not well', async () => {
    const { container } = await serving('health');
    const check = (...env: string[]) =>
      docker('exec', ...env.flatMap((one) => ['--env', one]), container, 'healthcheck');
    await check();
    await check('HOST=127.0.0.1');
    await check('HOST=localhost');
    await assert.rejects(check('PORT=9'), /Connection refused/);
    await assert.rejects(check('HOST=::1'), /connect:/);
    const program =
      "require('net').createServer((c) => c.end('HTTP/1.1 503 Service Unavailable\\r\\n\\r\\n')).listen(8090)";
    await docker('exec', '--detach', container, 'node', '--eval', program);
    await eventually('the check to tell 503', async () =>
      check('PORT=8090').then(
        () => assert.fail('503 passes'),
        (error: Error) => (/HTTP\/1\.1 503/.test(error.message) ? true : undefined),
      ),
    );
    const silent = "require('net').createServer(() => {}).listen(8091, () => console.log('there'))";
    await docker('exec', '--detach', container, 'node', '--eval', silent);
    await eventually('the check to end by itself', async () =>
      check('PORT=8091').then(
        () => assert.fail('silence passes'),
        (error: Error & { code?: number }) => (error.code === 142 ? true : undefined),
      ),
    );
  });

  test('the one without an engine starts and waits for a server', async () => {
    assert.match((await docker('run', '--rm', server, '--version')).stdout, /^\d+\.\d+\.\d+/);
    const container = await made.start('server', [
      ...hardened,
      '--env',
      'CLICKHOUSE_URL=http://127.0.0.1:1',
      server,
    ]);
    await eventually('the service to wait', async () =>
      (await docker('logs', container)).stderr.includes('Waiting for the ClickHouse server')
        ? true
        : undefined,
    );
  });

  test('the command of the guide makes an evidence key', async () => {
    const program =
      "import('/app/dist/evidence/evidence.js').then((m) => console.log(m.newEvidenceKey('service')))";
    const { stdout } = await docker('run', '--rm', '--entrypoint', 'node', server, '--eval', program);
    assert.match(stdout, /^PRIVATE\+KEY\+service\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}\n$/);
  });

  test('runs with the system calls that the systemd unit leaves it', async (context) => {
    const filter = await syscallFilter();
    if (typeof filter === 'string') return context.skip(filter);
    const folder = await temporaryDirectory();
    try {
      const profile = join(folder, 'profile.json');
      await writeFile(profile, JSON.stringify(filter));
      const { container, url } = await serving('filtered', ['--security-opt', `seccomp=${profile}`]);
      const key = await initialized(container);
      await posted(url, key, 2);
      await eventually('two events', async () => ((await total(url, key)) === 2 ? true : undefined));
      await docker('stop', '--time', '40', container);
      assert.equal(await inspected(container, '{{.State.ExitCode}}'), '0');
    } finally {
      await removeDirectory(folder);
    }
  });
});

/** Each start has another port. */
async function untilReady(container: string): Promise<string> {
  const { stdout } = await docker('port', container, '8080');
  const url = `http://${stdout.trim()}`;
  await eventually('the service to be ready', async () => {
    const answer = await call(`${url}/readyz`).catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  });
  return url;
}

async function initialized(container: string): Promise<string> {
  const init = ['init', '--org', 'acme', '--email', 'ana@acme.example', '--json'];
  const { stdout } = await docker('exec', container, 'node', 'dist/cli.js', ...init);
  return (JSON.parse(stdout) as { key: string }).key;
}

async function posted(url: string, key: string, count: number): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify(Array.from({ length: count }, () => sourceEvent()));
  const sent = async () => {
    const answer = await call(`${url}/api/v1/audit`, { method: 'POST', headers, body });
    return answer.status === 401 ? undefined : answer;
  };
  assert.equal((await eventually('the key to be known', sent)).status, 202);
}

/** Number of the events that `posted` sends, without those of making the organization. */
async function total(url: string, key: string): Promise<number> {
  const query = 'limit=1&endTime=2024-12-31T00:00:00Z';
  const { status, text } = await call(`${url}/api/v1/audit?${query}`, { headers: { 'x-api-key': key } });
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { meta: { total: number } }).meta.total;
}

/** Executables of an image, without libraries and files of packages. */
async function programsOf(container: string): Promise<string[]> {
  return (await exportedFiles(container))
    .filter(({ mode, path }) => /^-.*x/.test(mode) && !/\.so(\.\d+)*$/.test(path))
    .map(({ path }) => path)
    .filter((path) => !/^(app\/node_modules|dev|etc)\/|^\.dockerenv$/.test(path))
    .sort();
}
