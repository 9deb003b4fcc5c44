import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { call, eventually, problemOf, retryAfterOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { patience } from '../support/patience.ts';
import { createTenant, type SharedServer, sourceEvent, startServer, type Tenant } from '../support/server.ts';
import { login } from './session-support.ts';

/** Number of requests in progress, including this read of the metrics. */
async function inFlight({ url }: SharedServer): Promise<number> {
  const { text } = await call(`${url}/metrics`);
  const counts = text.matchAll(/^auditlog_http_requests_in_flight\S* (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** A POST that sends half of its body, and the rest later. */
async function halfSent(
  tenant: Tenant,
  body: string,
): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const before = await inFlight(tenant.server);
  const socket = connect({ host: '127.0.0.1', port: tenant.server.port });
  let text = '';
  socket.on('data', (piece) => (text += piece.toString('latin1')));
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  const half = Math.floor(body.length / 2);
  socket.write(
    `POST /api/v1/audit HTTP/1.1\r\nHost: x\r\nX-API-Key: ${tenant.key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body.slice(0, half)}`,
  );
  await eventually('the request to begin', async () => (await inFlight(tenant.server)) > before || undefined);
  return {
    socket,
    finish: async () => {
      socket.write(body.slice(half));
      await Promise.race([
        closed,
        eventually('an answer', async () => (text.includes('"accepted"') ? true : undefined), 8000).catch(
          () => false,
        ),
      ]);
      socket.destroy();
      return text;
    },
  };
}

test('SIGTERM: running requests finish, new ones are refused, everything is kept, exit 0; SIGINT is the same', async () => {
  const dataDir = await temporaryDirectory();
  try {
    // With a long flush interval, acknowledged events are not in the engine when the signal comes.
    const server = await startServer({ dataDir, env: { FLUSH_INTERVAL: '20s' } });
    const tenant = await createTenant(server, 'drain');
    const flow = randomUUID();
    await tenant.record(Array.from({ length: 5 }, () => sourceEvent({ flow_id: flow })));
    const underWay = await halfSent(tenant, JSON.stringify(sourceEvent({ flow_id: flow })));
    const engine = server.enginePid();
    const asked = performance.now();
    await server.kill('SIGTERM');
    await eventually('the server to take the signal', async () => {
      const answer = await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } }).catch(
        () => null,
      );
      return answer?.status === 200 ? undefined : true;
    });
    // New connections are refused or get 503.
    const late = await tenant
      .post([sourceEvent({ flow_id: flow })], { connection: 'close' })
      .catch(() => undefined);
    if (late !== undefined) {
      assert.equal(late.status, 503);
      assert.match(String(late.headers['retry-after']), /^\d+$/);
    }
    const answer = await underWay.finish();
    assert.match(answer, /^HTTP\/1\.1 202 /);
    assert.equal(await server.exited(), 0);
    assert.ok(performance.now() - asked < patience(7_500));
    if (engine !== undefined) assert.throws(() => process.kill(engine, 0), 'the engine is still there');
    // Without open requests the stop is quick; SIGINT acts like SIGTERM.
    const again = await startServer({ dataDir });
    try {
      await tenant.with({ server: again }).settled(6, { flowId: flow });
      const begun = performance.now();
      await again.kill('SIGINT');
      assert.equal(await again.exited(), 0);
      assert.ok(performance.now() - begun < patience(3_000));
    } finally {
      await again.stop();
    }
  } finally {
    await removeDirectory(dataDir);
  }
});

test('idle connections, stalled requests and logins that wait after many failures do not hold the end back for ever', async () => {
  const env = { TRUST_PROXY: '1', METRICS_PUBLIC: '1', RATE_LIMIT_LOGIN: 'off' };
  const server = await startServer({ env });
  const tenant = await createTenant(server, 'idle');
  const attempt = (n: number) =>
    login(
      server,
      { email: 'x@x.example', password: 'a wrong password' },
      { 'x-forwarded-for': `192.0.2.${n}` },
    );
  for (let n = 0; n < 10; n++) problemOf(await attempt(n), 401);
  const waiting = Array.from({ length: 6 }, (_, n) => attempt(100 + n));
  await eventually('six logins to wait', async () => {
    const { text } = await call(`${server.url}/metrics`);
    return text.includes('auditlog_password_checks_delayed_total{outcome="waited"} 6') ? true : undefined;
  });
  const idle = connect({ host: '127.0.0.1', port: server.port });
  idle.on('error', () => undefined);
  const stalled = await halfSent(tenant, JSON.stringify(sourceEvent()));
  stalled.socket.on('error', () => undefined);
  const asked = performance.now();
  await server.kill('SIGTERM');
  // The longest wait would be half a minute, but the service gives requests ten seconds.
  const answers = await Promise.all(waiting);
  const told = answers.filter(({ status }) => status === 503);
  assert.ok(told.length >= 1, answers.map(({ status }) => status).join(', '));
  for (const answer of told) assert.ok(retryAfterOf(answer) >= 1);
  for (const answer of answers) assert.ok([401, 503].includes(answer.status));
  assert.equal(await server.exited(), 0);
  // At most 10 s for requests and 10 s for the engine.
  assert.ok(performance.now() - asked < patience(11_000));
  idle.destroy();
  stalled.socket.destroy();
  await server.stop();
});
