import { strict as assert } from 'node:assert';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

/** More slow connections than a process has file descriptors (docs/operate.md, Connections). */

const descriptors = 1024;
const slow = 1100;
const year = 'startTime=2024-01-01T00:00:00Z&endTime=2024-12-31T00:00:00Z';
/** As an operator's `ulimit -n`. */
const launcher = ['sh', '-c', `ulimit -n ${descriptors}; exec "$0" "$@"`];

/** Connections that never finish the head of their request. */
class SlowConnections {
  readonly #sockets: Socket[] = [];
  #closed = 0;
  readonly #timer = setInterval(() => {
    for (const socket of this.#sockets) if (socket.writable) socket.write('x');
  }, 2000);

  /** From this number of addresses, beginning with 127.0.0.2. */
  async open(port: number, count: number, addresses: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const localAddress = `127.0.0.${2 + (n % addresses)}`;
        const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
        socket.on('close', () => this.#closed++);
        socket.resume();
        this.#sockets.push(socket);
        await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
        if (socket.writable) socket.write('GET /slow HTTP/1.1\r\nHost: x\r\nX-Slow: ');
      }),
    );
  }

  get closed(): number {
    return this.#closed;
  }

  end(): void {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Requests over one open connection, without retries. */
class KeptConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #tenant: Tenant;

  constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  async ask(method: 'GET' | 'POST', path: string, body = ''): Promise<{ status: number; body: string }> {
    const headers = { 'x-api-key': this.#tenant.key, 'content-type': 'application/json' };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${this.#tenant.server.url}${path}`, { agent: this.#agent, method, headers }, resolve)
        .on('error', reject)
        .end(body);
    });
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  }

  end(): void {
    this.#agent.destroy();
  }
}

const metricSum = (page: string, name: string): number =>
  page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

async function holdOut(server: TestServer): Promise<void> {
  const tenant = await createTenant(server, 'connections');
  const kept = new KeptConnection(tenant);
  const attack = new SlowConnections();
  const events = 40;
  try {
    assert.equal((await kept.ask('GET', `/api/v1/audit?${year}`)).status, 200);
    await attack.open(server.port, slow, 8);
    await eventually('connections to be refused', async () => (attack.closed > 0 ? true : undefined));
    for (let n = 0; n < events; n++) {
      const sent = await kept.ask('POST', '/api/v1/audit', JSON.stringify(sourceEvent({ extra: { n } })));
      assert.equal(sent.status, 202, sent.body);
      assert.equal((await kept.ask('GET', `/api/v1/audit?${year}`)).status, 200);
    }
    await eventually('what was written to be read', async () => {
      const { body } = await kept.ask('GET', `/api/v1/audit?${year}&limit=1`);
      return (JSON.parse(body) as { meta: { total: number } }).meta.total === events ? true : undefined;
    });
    const { body: page } = await kept.ask('GET', '/metrics');
    const max = metricSum(page, 'auditlog_http_connections_max');
    assert.equal(max, descriptors - 384);
    assert.ok(metricSum(page, 'auditlog_http_connections') <= max);
    assert.ok(metricSum(page, 'auditlog_http_connections_refused_total') >= 1);
    assert.ok(server.stderrLines().some((line) => line.includes('Connections are refused')));
    assert.ok(!server.stderrLines().some((line) => line.includes('EMFILE')));
  } finally {
    attack.end();
    kept.end();
  }
  // When they are gone, others are accepted.
  await eventually('room for others', async () => {
    const answer = await tenant.get('limit=1').catch(() => undefined);
    if (answer?.status !== 200) await sleep(50);
    return answer?.status === 200 ? true : undefined;
  });
}

test('one address has no more than its part, and others are let in', async () => {
  const perAddress = (descriptors - 384) / 2;
  const server = await startServer({ launcher, env: { METRICS_PUBLIC: '1' } });
  const attack = new SlowConnections();
  try {
    await attack.open(server.port, perAddress + 100, 1);
    await eventually('those beyond its part to be closed', async () =>
      attack.closed >= 100 ? true : undefined,
    );
    assert.equal(attack.closed, 100);
    const metrics = await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } });
    assert.match(await metrics.text(), /auditlog_http_connections_refused_total\{reason="address"\} 100/);
  } finally {
    attack.end();
    await server.stop();
  }
});

test('with connections beyond the descriptors reads and writes on open ones go on', async () => {
  const server = await startServer({ launcher, env: { METRICS_PUBLIC: '1' } });
  try {
    await holdOut(server);
  } finally {
    await server.stop();
  }
});
