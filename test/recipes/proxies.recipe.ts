import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/http.ts';
import { documentText } from '../support/markdown.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { sourceEvent } from '../support/server.ts';
import { fill } from './page.ts';
import { findProgram, freePort, type Program, Service, startProgram, untilListening } from './support.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  /** The client's own port. */
  readonly port: number;
}

interface Call {
  readonly agent?: Agent;
  readonly method?: string;
  readonly body?: string;
}

/** `caughtUp` reads the metrics. */
const behindProxy = { TRUST_PROXY: '1', METRICS_PUBLIC: '1' };

class Proxy {
  readonly service: Service;
  readonly port: number;
  readonly program: Program;

  constructor(service: Service, port: number, program: Program) {
    this.service = service;
    this.port = port;
    this.program = program;
  }

  /** Resolves with the head of the answer, before its body. */
  open(path: string, { agent, method = 'GET', body }: Call = {}): Promise<IncomingMessage> {
    const headers = {
      'x-api-key': this.service.tenant.key,
      'content-type': 'application/json',
      'x-forwarded-for': '198.51.100.99:1',
      forwarded: 'for=198.51.100.98',
    };
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, path, method, agent, headers }, resolve);
      sent.once('error', reject);
      sent.end(body);
    });
  }

  async ask(path: string, options: Call = {}): Promise<Answer> {
    const answer = await this.open(path, options);
    const port = answer.socket.localPort ?? 0;
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return { status: answer.statusCode ?? 0, body: Buffer.concat(pieces).toString('utf8'), port };
  }

  post(events: readonly unknown[], agent?: Agent): Promise<Answer> {
    const body = JSON.stringify(events);
    return this.ask('/api/v1/audit', { method: 'POST', body, ...(agent && { agent }) });
  }
}

const proxies: readonly (readonly [string, string, string, (config: string, folder: string) => string[]])[] =
  [
    [
      'nginx',
      'NGINX',
      'nginx.conf',
      (config, folder) => [
        '-p',
        folder,
        '-e',
        join(folder, 'error.log'),
        '-g',
        `daemon off; pid ${join(folder, 'pid')};`,
        '-c',
        config,
      ],
    ],
    ['haproxy', 'HAPROXY', 'haproxy.cfg', (config) => ['-db', '-f', config]],
  ];

for (const [name, variable, block, argumentsOf] of proxies) {
  const path = findProgram(name, variable);
  const skip = path === undefined && `${name} is not installed: ${variable} may name it`;

  describe(`behind ${name}`, { skip }, () => {
    test('the configuration in deploy/proxy does what its page promises', async () => {
      const folder = await temporaryDirectory();
      const [port, front] = [await freePort(), await freePort()];
      const service = new Service(join(folder, 'data'), port);
      await service.start(behindProxy);
      const webhook = `${documentText('deploy/shippers/kubernetes-location.conf')}\nlocation / {`;
      const config = fill(documentText(`deploy/proxy/${block}`), {
        ...(name === 'nginx' && { 'location / {': webhook }),
        '127.0.0.1:8080': `127.0.0.1:${port}`,
        '127.0.0.1:8000': `127.0.0.1:${front}`,
      });
      await writeFile(join(folder, block), config);
      const output = join(folder, 'output');
      const program = startProgram([path ?? '', ...argumentsOf(join(folder, block), folder)], { output });
      const proxy = new Proxy(service, front, program);
      try {
        await untilListening(front, program);
        await reachesService(proxy);
        await logsThePort(proxy);
        if (name === 'nginx') await acceptsTheWebhook(proxy);
        await acceptsEventsWithoutEngine(proxy);
        await keepsConnections(proxy);
        await survivesPauses(proxy);
        await passesExports(proxy);
        await breaksWithTheService(proxy);
      } catch (error) {
        throw new Error(readFileSync(output, 'utf8').slice(-3000), { cause: error });
      } finally {
        await program.stop('SIGKILL');
        await service.stop();
        await removeDirectory(folder);
      }
    });
  });
}

/** The access log has the client's port, despite forged headers. */
async function logsThePort(proxy: Proxy): Promise<void> {
  const { status, port } = await proxy.ask('/api/v1/audit?limit=1');
  assert.equal(status, 200);
  await eventually('the line of the access log', async () => {
    const lines = proxy.service.server
      .stdoutLines()
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    return lines.some((line) => line['ip'] === '127.0.0.1' && line['port'] === String(port))
      ? true
      : undefined;
  });
  assert.ok(!proxy.service.server.stdoutLines().some((line) => line.includes('198.51.100')));
}

/** Posts what a Kubernetes API server posts, with its own query; twice, as after a lost answer. */
async function acceptsTheWebhook(proxy: Proxy): Promise<void> {
  const events = new URL('../fixtures/adapters/kubernetes.json', import.meta.url);
  const before = await proxy.service.count();
  for (let n = 0; n < 2; n++) {
    const { status, body } = await proxy.ask('/kubernetes?timeout=30s', {
      method: 'POST',
      body: readFileSync(events, 'utf8'),
    });
    assert.deepEqual([status, JSON.parse(body)], [202, { accepted: 2, rejected: 0, errors: [] }]);
  }
  await proxy.service.tenant.caughtUp();
  assert.equal((await proxy.service.count()) - before, 2 + 1);
}

const reachesService = (proxy: Proxy): Promise<true> =>
  eventually('the proxy to reach the service', async () =>
    (await proxy.ask('/readyz')).status === 200 ? true : undefined,
  );

/** With a silent engine `/readyz` takes five seconds, and the proxy still passes events. */
async function acceptsEventsWithoutEngine(proxy: Proxy): Promise<void> {
  const file = join(proxy.service.server.dataDir, 'engine.json');
  const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number };
  process.kill(pid, 'SIGSTOP');
  try {
    for (let second = 0; second < 8; second++) {
      await delay(1_000);
      assert.equal((await proxy.post([sourceEvent()])).status, 202);
    }
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await reachesService(proxy);
}

/** A thousand clients with open connections get all their answers. */
async function keepsConnections(proxy: Proxy): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1000, maxFreeSockets: 1000 });
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(Array.from({ length: 1000 }, () => proxy.ask('/healthz', { agent })));
    assert.ok(answers.every(({ status }) => status === 200));
  }
  agent.destroy();
}

/** After a pause in which the service closes idle connections, no client is reset and nothing is stored twice. */
async function survivesPauses(proxy: Proxy): Promise<void> {
  const before = await proxy.service.count();
  const pauses = [0, 4_900, 7_900, 8_100, 10_000, 12_000, 13_000];
  const answers = await Promise.all(
    pauses.flatMap((ms) =>
      Array.from({ length: 6 }, async (_, n) => {
        const lone = new Agent({ keepAlive: true, maxSockets: 1 });
        const first = await proxy.post([sourceEvent()], lone);
        await delay(ms + n * 20);
        const second = await proxy.post([sourceEvent()], lone);
        lone.destroy();
        return [first.status, second.status];
      }),
    ),
  );
  assert.deepEqual(new Set(answers.flat()), new Set([202]));
  await proxy.service.tenant.caughtUp();
  // Plus one event of `caughtUp`.
  assert.equal((await proxy.service.count()) - before, answers.length * 2 + 1);
}

/** A hundred megabytes, the same as without a proxy. */
async function passesExports(proxy: Proxy): Promise<void> {
  const extra = { text: 'x'.repeat(100_000) };
  for (let n = 0; n < 3; n++) {
    const events = Array.from({ length: 180 }, () => sourceEvent({ extra }));
    assert.equal((await proxy.post(events)).status, 202);
  }
  await proxy.service.tenant.caughtUp();
  // The export itself is an event, too, but not in its own output.
  const total = await proxy.service.count();
  const { status, body } = await proxy.ask('/api/v1/audit/export');
  assert.equal(status, 200);
  assert.ok(body.length > 100_000_000, String(body.length));
  assert.equal(body.split('\n').length - 1, total);
}

/** The service is killed during an export: the client sees a broken answer, never a clean end. */
async function breaksWithTheService(proxy: Proxy): Promise<void> {
  const answer = await proxy.open('/api/v1/audit/export');
  assert.equal(answer.statusCode, 200);
  let bytes = 0;
  const read = async (): Promise<void> => {
    for await (const piece of answer) {
      bytes += (piece as Buffer).length;
      if (bytes > 1_000_000 && !killed) {
        killed = true;
        await proxy.service.server.kill('SIGKILL');
      }
    }
  };
  let killed = false;
  await assert.rejects(read(), /aborted|ECONNRESET|socket hang up/);
  assert.ok(killed && bytes < 100_000_000);
  await proxy.service.start(behindProxy);
  await reachesService(proxy);
}
