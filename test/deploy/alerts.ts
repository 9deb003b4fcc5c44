import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { trustedFetch } from '../../src/cli/trusted-fetch.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { inEngineOf } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import {
  createTenant,
  type Key,
  keyKnown,
  printed,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { TestWitness } from '../support/witness.ts';
import { withEngine } from '../e2e/export-support.ts';

/**
 * `npm run test:alerts`: a real Prometheus asks a running service every three seconds, faults are caused, and the expression of
 * the alert has to hold. Takes some minutes. The waiting times of the alerts (`for`) are left out: promtool tests those.
 */

/** Of a wait for an alert, on a quiet machine: what ends first is the wait that says what it waited for, not the test. */
const alertMsMax = 40_000;
const answerMsMax = 30_000;
/** A request that gets no answer fails, and says so. */
const answered = (): AbortSignal => AbortSignal.timeout(patience(answerMsMax));

interface OnServer {
  readonly engine: PlainEngine;
  readonly living: TestServer;
  readonly tenant: Tenant;
  stop(): Promise<void>;
}

/**
 * Two services on an engine, of which one was killed with an event in its log: the feed waits for it. The clock of the
 * other one is behind.
 */
async function startWithDeadWriter(): Promise<OnServer> {
  const engine = await startPlainEngine();
  const proxy = await startFaultProxy(engine.port);
  const env = { ...engine.env, EVIDENCE_INTERVAL: 'off' };
  const clock = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  const behind = { NODE_OPTIONS: `--import ${clock}`, CLOCK_SHIFT_MS: '-5000' };
  const living = await startServer({ env: { ...env, ...behind } });
  const dying = await startServer({ env: { ...env, CLICKHOUSE_URL: proxy.url } });
  const tenant = await createTenant(living, 'shared');
  await keyKnown(dying, tenant.key);
  proxy.set('refuse');
  await tenant.with({ server: dying }).record([sourceEvent({})]);
  await dying.kill('SIGKILL');
  const stop = async (): Promise<void> => {
    await dying.stop();
    await living.stop();
    await proxy.stop();
    await engine.stop();
  };
  return { engine, living, tenant, stop };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  assert.ok(typeof address === 'object' && address !== null);
  probe.close();
  return address.port;
}

/** Sends an event whose second half takes more than a second. */
async function recordSlowly({ server, key }: Tenant): Promise<void> {
  const body = JSON.stringify(sourceEvent({}));
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length };
  const sent = request(`${server.url}/api/v1/audit`, { method: 'POST', headers, signal: answered() });
  const answer = once(sent, 'response');
  sent.write(body.slice(0, 10));
  await sleep(1_500);
  sent.end(body.slice(10));
  await answer;
}

describe('alerts, caused for real', () => {
  let directory = '';
  let it: TestServer;
  let prometheus: ChildProcess;
  let prometheusUrl = '';
  let ask: typeof fetch;
  let url = '';
  let key = '';
  let breakCertificate: () => Promise<void>;
  let mendCertificate: () => Promise<void>;
  let shared: OnServer;
  let start: () => Promise<TestServer>;
  const expressions = new Map<string, string>();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'alerts-'));
    const authority = await makeAuthority(directory);
    assert.ok(authority !== undefined, 'openssl is needed');
    const { certFile, keyFile } = await authority.issue('served');
    const served = join(directory, 'served-now.pem');
    await copyFile(certFile, served);
    breakCertificate = () => writeFile(served, 'nonsense');
    mendCertificate = () => copyFile(certFile, served);
    shared = await startWithDeadWriter();
    const dataDir = join(directory, 'of-service');
    const env = {
      PORT: String(await freePort()),
      TLS_CERT: served,
      TLS_KEY: keyFile,
      RATE_LIMIT_AUDIT: '5/1s',
      EVIDENCE_INTERVAL: '500ms',
      EVIDENCE_WITNESSES: `${new TestWitness('absent.example', () => '').key} http://127.0.0.1:1`,
      WAL_MAX_BYTES: '1 MiB',
    };
    start = () => startServer({ dataDir, env });
    it = await start();
    url = `https://127.0.0.1:${it.port}`;
    const trusted = await trustedFetch({ ca: authority.certFile });
    ask = (at, init) => trusted(at, { ...init, signal: answered() });
    await it.cliHere(['org', 'create', '--slug', 'alerts', '--name', 'Alerts']);
    const args = ['key', 'create', '--org', 'alerts', '--scopes', 'read,write', '--json'];
    ({ key } = printed(await it.cliHere(args)) as Key);
    const port = await freePort();
    prometheusUrl = `http://127.0.0.1:${port}`;
    const target = { targets: [`127.0.0.1:${it.port}`] };
    // The metrics wait for a stopped engine, for two seconds.
    const config = {
      global: { scrape_interval: '3s', scrape_timeout: '3s', evaluation_interval: '1s' },
      rule_files: [resolve('deploy/prometheus/alerts.yml')],
      scrape_configs: [
        {
          job_name: 'auditlog',
          scheme: 'https',
          tls_config: { ca_file: join(directory, 'authority.pem') },
          static_configs: [target],
        },
        {
          job_name: 'shared',
          static_configs: [{ targets: [`127.0.0.1:${shared.living.port}`] }],
        },
      ],
    };
    const file = join(directory, 'prometheus.yml');
    await writeFile(file, JSON.stringify(config));
    const storage = `--storage.tsdb.path=${join(directory, 'data')}`;
    const where = [`--config.file=${file}`, storage, `--web.listen-address=127.0.0.1:${port}`];
    prometheus = spawn('prometheus', where, { stdio: 'ignore' });
    const { groups } = parse(await readFile('deploy/prometheus/alerts.yml', 'utf8')) as {
      groups: { rules: { alert: string; expr: string }[] }[];
    };
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) expressions.set(alert, expr);
    await eventually(
      'Prometheus to have asked',
      async () => (await holds('sum(up) == 2')) || undefined,
      alertMsMax,
    );
  });

  after(async () => {
    if (prometheus !== undefined) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'close');
    }
    await it?.stop();
    await shared?.stop();
    await rm(directory, { recursive: true });
  });

  async function holds(expression: string): Promise<boolean> {
    const query = new URLSearchParams({ query: expression });
    try {
      const answer = await fetch(`${prometheusUrl}/api/v1/query?${query.toString()}`, { signal: answered() });
      return ((await answer.json()) as { data: { result: unknown[] } }).data.result.length > 0;
    } catch {
      // It is starting.
      return false;
    }
  }

  const fires = (alert: string, cause: () => Promise<unknown> = async () => undefined) =>
    eventually(
      `the expression of ${alert} to hold`,
      async () => {
        await cause();
        return (await holds(expressions.get(alert) ?? 'absent')) || undefined;
      },
      alertMsMax,
      500,
    );
  const quiet = async (alert: string) =>
    assert.equal(await holds(expressions.get(alert) ?? 'absent'), false, `${alert} fires while all is well`);

  /** False where it is just being started again. */
  function signalEngine(signal: NodeJS.Signals): boolean {
    const pid = it.enginePid();
    try {
      return pid !== undefined && process.kill(pid, signal);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
      return false;
    }
  }

  test('a certificate that ends in two days, and one that cannot be served', async () => {
    await fires('AuditlogCertificateEnds');
    await quiet('AuditlogCertificateRefused');
    await breakCertificate();
    await fires('AuditlogCertificateRefused');
    await mendCertificate();
  });

  test('more requests than a limit allows', async () => {
    await quiet('AuditlogLimitsHit');
    await fires('AuditlogLimitsHit', () =>
      Promise.all(
        Array.from({ length: 80 }, () => ask(`${url}/api/v1/audit`, { headers: { 'x-api-key': 'no' } })),
      ),
    );
  });

  test('events that break a rule', async () => {
    await quiet('AuditlogEventsRejected');
    await fires('AuditlogEventsRejected', () =>
      ask(`${url}/api/v1/audit`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: Buffer.from('[{},{}]'),
      }),
    );
  });

  test('an engine that is killed again and again', async () => {
    await quiet('AuditlogEngineRestarts');
    await fires('AuditlogEngineRestarts', async () => {
      if (await holds('auditlog_ready{job="auditlog",check="engine_reachable"} == 1'))
        signalEngine('SIGKILL');
    });
  });

  const send = (events: readonly unknown[]) =>
    ask(`${url}/api/v1/audit`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(events)),
    });
  const record = (events: number) => send(Array.from({ length: events }, () => sourceEvent({})));
  const get = (path: string) => ask(`${url}/api/v1/audit${path}`, { headers: { 'x-api-key': key } });

  test('a log that fills up, as the engine is stopped, until writes are refused', async () => {
    for (const alert of ['AuditlogLogFillsUp', 'AuditlogWritesRefused', 'AuditlogEventsNotReadable'])
      await quiet(alert);
    // Each time: one that was still starting is given up for another, which runs.
    const recordWithoutEngine = () => {
      signalEngine('SIGSTOP');
      return record(100);
    };
    try {
      await fires('AuditlogLogFillsUp', recordWithoutEngine);
      await fires('AuditlogWritesRefused', () => record(100));
      await fires('AuditlogNotReady');
      await fires('AuditlogEventsNotReadable');
    } finally {
      signalEngine('SIGCONT');
    }
    await eventually(
      'the log to be emptied',
      async () => !(await holds(expressions.get('AuditlogLogFillsUp') ?? '')) || undefined,
      alertMsMax,
    );
    assert.equal((await record(1)).status, 202);
  });

  test('a feed that a dead writer holds back', async () => {
    await fires('AuditlogFeedHeldBack');
  });

  test('a clock that is behind, and checkpoints that a witness has not cosigned', async () => {
    await fires('AuditlogClockBehind');
    await fires('AuditlogEvidenceUncosigned');
  });

  test('a service that hardly gets the processor, and writes that take long', async () => {
    const { pid } = shared.living;
    await fires('AuditlogEventLoopSlow', async () => {
      process.kill(pid, 'SIGSTOP');
      await sleep(900);
      process.kill(pid, 'SIGCONT');
    });
    await fires('AuditlogSlowAcknowledgement', () => recordSlowly(shared.tenant));
  });

  test('reads that fail, as the server of the engine is gone', async () => {
    await quiet('AuditlogReadsFail');
    await shared.engine.kill();
    try {
      await fires('AuditlogReadsFail', () => shared.tenant.get());
    } finally {
      await shared.engine.start();
    }
  });

  test('events that were changed after they had been signed for', async () => {
    for (const alert of ['AuditlogEvidenceContradicted', 'AuditlogDamage']) await quiet(alert);
    await eventually(
      'a checkpoint',
      async () => (await get('/evidence/checkpoint')).status === 200 || undefined,
    );
    assert.equal(await it.stop(), 0);
    await inEngineOf(it.dataDir, async (storage) => {
      await storage.command(
        `ALTER TABLE events UPDATE source = concat(source, ' ') WHERE 1 SETTINGS mutations_sync = 1`,
      );
      // So that they are looked at again. A service that runs has the trees in memory, and puts tiles back that are enough.
      await storage.command('TRUNCATE TABLE evidence_tiles');
      await storage.command('TRUNCATE TABLE evidence_progress');
    });
    it = await start();
    await fires('AuditlogEvidenceContradicted');
    await fires('AuditlogDamage');
  });

  test('a part with a byte that has changed', async () => {
    const ofParts = 'auditlog_damage_known{kind="unreadable"} > 0';
    assert.equal(await holds(ofParts), false);
    const parts = () =>
      withEngine(it, (storage) =>
        storage.rows<{ name: string; path: string }>(
          "SELECT name, path FROM system.parts WHERE table = 'events' AND active",
        ),
      );
    await withEngine(it, (storage) => storage.command('SYSTEM STOP MERGES events'));
    const known = new Set((await parts()).map(({ name }) => name));
    // Payloads that are most of the part, and of few events: the engine tries each bit of a damaged block.
    const noise = () => ({ extra: { noise: randomBytes(200).toString('base64') } });
    assert.equal((await send(Array.from({ length: 10 }, () => sourceEvent(noise())))).status, 202);
    const part = await eventually('a new part', async () =>
      (await parts()).find(({ name }) => !known.has(name)),
    );
    const file = await open(join(part.path, 'data.bin'), 'r+');
    try {
      const at = Math.floor((await file.stat()).size * 0.3);
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
      await file.write(Buffer.from([(buffer[0] ?? 0) ^ 0x10]), 0, 1, at);
    } finally {
      await file.close();
    }
    await eventually(
      'damage of a part',
      async () => {
        await get('?limit=1000');
        return (await holds(ofParts)) || undefined;
      },
      alertMsMax,
      500,
    );
    await fires('AuditlogDamage');
  });

  test('a service that is gone', async () => {
    await quiet('AuditlogDown');
    await it.kill('SIGKILL');
    await fires('AuditlogDown');
  });
});
