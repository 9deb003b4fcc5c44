import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { trustedFetch } from '../../src/cli/trusted-fetch.ts';
import { makeAuthority } from '../support/certificates.ts';
import { eventually } from '../support/http.ts';
import { type Key, printed, startServer, type TestServer } from '../support/server.ts';

/**
 * `npm run test:alerts`: a real Prometheus asks a running service each second, faults are caused, and the expression of
 * the alert has to hold. Takes two minutes. The waiting times of the alerts (`for`) are left out: promtool tests those.
 */

const alertMsMax = 150_000;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  assert.ok(typeof address === 'object' && address !== null);
  probe.close();
  return address.port;
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
  const expressions = new Map<string, string>();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'alerts-'));
    const authority = await makeAuthority(directory);
    assert.ok(authority !== undefined, 'openssl is needed');
    const { certFile, keyFile } = await authority.issue('served');
    const served = join(directory, 'served-now.pem');
    await copyFile(certFile, served);
    breakCertificate = () => writeFile(served, 'nonsense');
    it = await startServer({
      env: {
        TLS_CERT: served,
        TLS_KEY: keyFile,
        RATE_LIMIT_AUDIT: '5/1s',
        EVIDENCE_INTERVAL: '500ms',
      },
    });
    url = `https://127.0.0.1:${it.port}`;
    ask = await trustedFetch({ ca: authority.certFile });
    await it.cliHere(['org', 'create', '--slug', 'alerts', '--name', 'Alerts']);
    const args = ['key', 'create', '--org', 'alerts', '--scopes', 'read,write', '--json'];
    ({ key } = printed(await it.cliHere(args)) as Key);
    const port = await freePort();
    prometheusUrl = `http://127.0.0.1:${port}`;
    const target = { targets: [`127.0.0.1:${it.port}`] };
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [resolve('deploy/prometheus/alerts.yml')],
      scrape_configs: [
        {
          job_name: 'auditlog',
          scheme: 'https',
          tls_config: { ca_file: join(directory, 'authority.pem') },
          static_configs: [target],
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
      async () => (await holds('up == 1')) || undefined,
      alertMsMax,
    );
  });

  after(async () => {
    if (prometheus !== undefined) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'close');
    }
    await it?.stop();
    await rm(directory, { recursive: true });
  });

  async function holds(expression: string): Promise<boolean> {
    const query = new URLSearchParams({ query: expression });
    try {
      const answer = await fetch(`${prometheusUrl}/api/v1/query?${query.toString()}`);
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
      if (await holds('auditlog_ready{check="engine_reachable"} == 1')) signalEngine('SIGKILL');
    });
  });

  test('a service that is gone', async () => {
    await quiet('AuditlogDown');
    await it.kill('SIGKILL');
    await fires('AuditlogDown');
  });
});
