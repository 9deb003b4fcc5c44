import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { call, eventually, problemOf } from '../support/http.ts';
import { createTenant, sourceEvent, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
before(async () => {
  server = await sharedServer();
});

test('metrics: Prometheus text that counts requests', async () => {
  const tenant = await createTenant(server, 'metrics');
  await tenant.record([sourceEvent()]);
  const answer = await call(`${server.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^text\/plain\b/);
  const samples = answer.text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.ok(samples.length > 10);
  for (const sample of samples) {
    assert.match(sample, /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? (-?\d+(\.\d+)?(e[+-]?\d+)?|NaN|[+-]?Inf)$/);
  }
  assert.match(answer.text, /^# TYPE \S+ histogram$/m);
  assert.ok(
    samples.some((sample) => /request/.test(sample) && /audit/.test(sample)),
    'no request counter',
  );
  // Labels name routes, never text of clients: their number must stay small.
  await call(`${server.url}/made-up-path-zQx7`);
  assert.ok(!(await call(`${server.url}/metrics`)).text.includes('zQx7'));
});

test('metrics are not for requests that a proxy has passed on', async () => {
  const marks: Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { 'X-Forwarded-Proto': 'https' },
    { 'x-forwarded-host': 'audit.example' },
    { forwarded: 'for=127.0.0.1' },
    { forwarded: 'for=unknown' },
    { 'x-real-ip': '127.0.0.1' },
    { via: '1.1 proxy' },
    { 'cf-connecting-ip': '127.0.0.1' },
  ];
  for (const headers of marks) problemOf(await call(`${server.url}/metrics`, { headers }), 404);
  assert.equal((await call(`${server.url}/metrics`, { headers: { 'x-forwarded': 'x' } })).status, 200);
});

/** Limits the file size of a process: its writes fail, as on a full disk. */
async function limitFileSize(pid: number, bytes: string): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

test('an engine whose writes fail without its noticing: readyz names it, and no acknowledged event is lost', {
  skip: process.platform === 'linux' ? false : 'prlimit is of Linux',
}, async () => {
  const checks = async (): Promise<Readonly<Record<string, boolean>>> =>
    (JSON.parse((await call(`${server.url}/readyz`)).text) as { checks: Record<string, boolean> }).checks;
  const tenant = await createTenant(server, 'full-disk');
  const engine = server.enginePid() ?? 0;
  await limitFileSize(engine, '64');
  const failed = eventually(
    'readyz to name the engine',
    async () => {
      const answer = await call(`${server.url}/readyz`);
      const isNamed = answer.text.includes('"engine_takes_writes":false');
      if (isNamed) assert.equal(answer.status, 503);
      return isNamed ? true : undefined;
    },
    60_000,
    2,
  );
  await tenant.record([sourceEvent(), sourceEvent()]);
  await failed;
  // The engine that lost them is replaced by one without the limit, which gets them again.
  await eventually(
    'all to be well',
    async () => ((await call(`${server.url}/readyz`)).status === 200 ? true : undefined),
    60_000,
  );
  await tenant.settled(2);
  assert.notEqual(server.enginePid(), engine);
  assert.ok(server.stderrLines().some((line) => line.includes('failed to write its files')));
  await eventually(
    'every check to be well',
    async () => Object.values(await checks()).every(Boolean) || undefined,
    60_000,
  );
});
