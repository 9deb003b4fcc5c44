import { strict as assert } from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { findProgram, freePort, startProgram, untilListening, type Program } from '../recipes/support.ts';
import { makeAuthority } from '../support/certificates.ts';
import { call, eventually } from '../support/http.ts';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { sourceEvent } from '../support/server.ts';
import { builtImage, docker, hardened, inspected, Made, whyNotDocker } from './docker.ts';
import { type EngineContainer, startEngineContainer } from './engine-container.ts';
import { ask, holdEachOnce, Load, type Secured } from './load.ts';

/**
 * The services and the HAProxy of deploy/compose/scaled.yaml. The engine is from the other image, HAProxy from
 * this machine.
 */

const haproxy = findProgram('haproxy', 'HAPROXY');
const skip =
  (await whyNotDocker()) ||
  (haproxy === undefined && 'NOT TESTED: haproxy is not installed: HAPROXY may name it');
const names = ['front-1', 'front-2', 'front-3'] as const;
const clients = 4;
const batches = 40;

interface FrontEnd {
  readonly container: string;
  readonly url: string;
}

describe('three front ends behind a proxy', { skip }, () => {
  const made = new Made();
  let folder = '';
  let back = '';
  let engine: EngineContainer | undefined;
  let fronts: readonly FrontEnd[] = [];
  let proxy: Program | undefined;
  let key = '';
  let secured: Secured;

  before(async () => {
    const [embedded, server] = [await builtImage('embedded'), await builtImage('server')];
    folder = await temporaryDirectory();
    const subnet = await frontNetwork(made);
    back = await made.network('back', ['--internal']);
    engine = await startEngineContainer(made, embedded, back);
    fronts = await startFrontEnds(made, server, subnet, back, engine.env);
    const init = ['init', '--org', 'acme', '--email', 'ana@acme.example', '--json'];
    const { stdout } = await docker('exec', fronts[0]?.container ?? '', 'node', 'dist/cli.js', ...init);
    ({ key } = JSON.parse(stdout) as { key: string });
    for (const { url } of fronts)
      await eventually('the key to be known', async () =>
        (await sent(url, key, '{}')) === 401 ? undefined : true,
      );
    const port = await freePort();
    proxy = await startProxy(folder, port, fronts);
    secured = { port, ca: await readFile(join(folder, 'authority.pem'), 'utf8'), key };
    await eventually('the proxy to have all of them', async () => {
      const agent = new Agent();
      const answers = await Promise.all(names.map(() => ask(secured, '/readyz', agent)));
      return answers.every(({ status }) => status === 200) ? true : undefined;
    });
  });
  after(async () => {
    await proxy?.stop('SIGKILL');
    await made.remove();
    await engine?.stop();
    if (folder !== '') await removeDirectory(folder);
  });

  /** Expected events of all tests so far. */
  let expected = 0;
  async function underLoad(context: TestContext, disturb: (load: Load) => Promise<number>): Promise<void> {
    const load = new Load(secured, clients);
    let single = 0;
    try {
      await load.further(batches);
      single = await disturb(load);
      await load.further(batches);
    } finally {
      await load.stop();
    }
    const ofBatches = await load.finish();
    context.diagnostic(`${load.acknowledged} batches; instead of 202 at first: ${load.others}`);
    expected += ofBatches + single;
    await holdEachOnce(secured, expected);
  }

  test('one is killed and comes back: each acknowledged event once', (context) =>
    underLoad(context, async (load) => {
      const [, killed] = fronts;
      assert.ok(killed);
      await docker('kill', '--signal', 'KILL', killed.container);
      await load.further(batches);
      assert.equal(await inspected(killed.container, '{{.State.Running}}'), 'false');
      await docker('start', killed.container);
      await untilReady(killed);
      return 0;
    }));

  test('one is cut off from the engine and joined again: it takes events, and reads go elsewhere', (context) =>
    underLoad(context, async (load) => {
      const [cut] = fronts;
      assert.ok(cut);
      await docker('network', 'disconnect', back, cut.container);
      await eventually('it to tell', async () => ((await ready(cut)) === 503 ? true : undefined));
      await load.further(batches);
      const headers = { 'x-api-key': key };
      assert.equal((await call(`${cut.url}/api/v1/audit`, { headers })).status, 500);
      const event = sourceEvent({ extra: { batch: 'of its own', n: 0 } });
      assert.equal(await sent(cut.url, key, JSON.stringify(event)), 202);
      const agent = new Agent();
      await eventually('reads to go elsewhere', async () => {
        const answers = await Promise.all(
          [...names, ...names].map(() => ask(secured, '/api/v1/audit', agent)),
        );
        return answers.every(({ status }) => status === 200) ? true : undefined;
      });
      await docker('network', 'connect', back, cut.container);
      await untilReady(cut);
      return 1;
    }));

  test('each is stopped and started in turn: nothing is lost or there twice', (context) =>
    underLoad(context, async (load) => {
      for (const front of fronts) {
        await docker('stop', '--time', '40', front.container);
        assert.equal(await inspected(front.container, '{{.State.ExitCode}}'), '0');
        await docker('start', front.container);
        await untilReady(front);
        await load.further(batches);
      }
      return 0;
    }));
});

/** A network whose addresses survive a restart of containers, so that the proxy finds them. */
async function frontNetwork(made: Made): Promise<string> {
  const first = 64 + Math.floor(Math.random() * 64);
  for (let n = first; ; n++) {
    const subnet = `10.213.${n % 256}`;
    try {
      await made.network('front', ['--subnet', `${subnet}.0/24`]);
      return subnet;
    } catch (error) {
      // Another network uses it.
      if (n > first + 8) throw error;
    }
  }
}

async function startFrontEnds(
  made: Made,
  image: string,
  subnet: string,
  back: string,
  engine: Readonly<Record<string, string>>,
): Promise<FrontEnd[]> {
  const env = {
    ...engine,
    SESSION_SECRET: 's'.repeat(40),
    RATE_LIMIT_AUDIT: 'off',
    TRUST_PROXY: '1',
    WORKERS: '1',
  };
  const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const fronts: FrontEnd[] = [];
  for (const [n, name] of names.entries()) {
    const address = `${subnet}.${10 + n}`;
    const place = ['--network', made.named('front'), '--ip', address];
    const container = made.named(name);
    const volume = `${await made.volume(name)}:/data`;
    await made.create(name, [...hardened, ...place, '--volume', volume, ...variables, image]);
    await docker('network', 'connect', back, container);
    await docker('start', container);
    const front = { container, url: `http://${address}:8080` };
    await untilReady(front);
    fronts.push(front);
  }
  return fronts;
}

/** The configuration of deploy/compose, with this test's addresses. */
async function startProxy(folder: string, port: number, fronts: readonly FrontEnd[]): Promise<Program> {
  const authority = await makeAuthority(folder);
  assert.ok(authority, 'openssl is not installed');
  const certificate = await authority.issue('audit');
  await writeFile(join(folder, 'audit.pem'), certificate.cert + certificate.key, { mode: 0o600 });
  const file = new URL('deploy/compose/haproxy/haproxy.cfg', projectRoot);
  let config = await readFile(file, 'utf8');
  const addresses = fronts.map(({ url }, n) => [`${names[n]}:8080`, new URL(url).host] as const);
  for (const [from, to] of [
    ['bind :8443', `bind 127.0.0.1:${port}`],
    ['/usr/local/etc/haproxy/audit.pem', join(folder, 'audit.pem')],
    ...addresses,
  ] as const) {
    assert.ok(config.includes(from), `haproxy.cfg has ${from}`);
    config = config.replaceAll(from, to);
  }
  await writeFile(join(folder, 'haproxy.cfg'), config);
  const command = [haproxy ?? '', '-db', '-f', join(folder, 'haproxy.cfg')];
  const program = startProgram(command, { output: join(folder, 'output') });
  await untilListening(port, program);
  return program;
}

async function ready({ url }: FrontEnd): Promise<number | undefined> {
  return (await call(`${url}/readyz`).catch(() => undefined))?.status;
}

async function untilReady(front: FrontEnd): Promise<void> {
  await eventually('the front end to be ready', async () =>
    (await ready(front)) === 200 ? true : undefined,
  );
}

/** A service's own answer to a body. */
async function sent(url: string, key: string, body: string): Promise<number> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  return (await call(`${url}/api/v1/audit`, { method: 'POST', headers, body })).status;
}
