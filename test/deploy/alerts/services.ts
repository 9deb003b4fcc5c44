import { strict as assert } from 'node:assert';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trustedFetch } from '../../../src/tools/trusted-fetch.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { patience } from '../../support/patience.ts';
import { freePort, type PlainEngine, startPlainEngine } from '../../support/plain-engine.ts';
import {
  createTenant,
  type Key,
  keyKnown,
  printed,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../../support/server.ts';
import type { Target } from './prometheus.ts';

const answerMsMax = 30_000;
/** A request that gets no answer fails, and says so. */
export const answered = (): AbortSignal => AbortSignal.timeout(patience(answerMsMax));

/** A service on the embedded engine, behind TLS; it has one organization. */
export class SecuredService {
  server: TestServer;
  readonly url: string;
  readonly target: Target;
  readonly #start: () => Promise<TestServer>;
  readonly #fetch: typeof fetch;
  readonly #key: string;
  readonly #directory: string;
  readonly #certificate: { readonly good: string; readonly served: string };

  private constructor(
    started: Pick<SecuredService, 'server' | 'target'> & {
      readonly start: () => Promise<TestServer>;
      readonly fetch: typeof fetch;
      readonly key: string;
      readonly directory: string;
      readonly certificate: { readonly good: string; readonly served: string };
    },
  ) {
    this.server = started.server;
    this.target = started.target;
    this.url = `https://127.0.0.1:${started.server.port}`;
    this.#start = started.start;
    this.#fetch = started.fetch;
    this.#key = started.key;
    this.#directory = started.directory;
    this.#certificate = started.certificate;
  }

  static async start(): Promise<SecuredService> {
    const directory = await mkdtemp(join(tmpdir(), 'alerts-'));
    const authority = await makeAuthority(directory);
    assert.ok(authority !== undefined, 'openssl is needed');
    const { pemFile } = await authority.issue('served');
    const served = join(directory, 'served-now.pem');
    await copyFile(pemFile, served);
    const port = await freePort();
    const env = {
      PORT: String(port),
      TLS_CERT: served,
      RATE_LIMIT_AUDIT: '5/1s',
      WAL_MAX_BYTES: '1 MiB',
    };
    const start = () =>
      startServer({ dataDir: join(directory, 'of-service'), env, intervals: { evidenceMs: 500 } });
    const server = await start();
    await server.cliHere(['org', 'create', '--slug', 'alerts', '--name', 'Alerts']);
    const args = ['key', 'create', '--org', 'alerts', '--scopes', 'read,write', '--json'];
    const { key } = printed(await server.cliHere(args)) as Key;
    return new SecuredService({
      server,
      target: { job: 'auditlog', port, caFile: authority.certFile },
      start,
      fetch: await trustedFetch({ ca: authority.certFile }),
      key,
      directory,
      certificate: { good: pemFile, served },
    });
  }

  /** Starts it again, after it was stopped. */
  async startAgain(): Promise<void> {
    this.server = await this.#start();
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.#directory, { recursive: true });
  }

  breakCertificate(): Promise<void> {
    return writeFile(this.#certificate.served, 'nonsense');
  }

  mendCertificate(): Promise<void> {
    return copyFile(this.#certificate.good, this.#certificate.served);
  }

  /** GET on the audit endpoint; `path` goes on from there. */
  get(path: string, key = this.#key): Promise<Response> {
    return this.#fetch(`${this.url}/api/v1/audit${path}`, {
      headers: { 'x-api-key': key },
      signal: answered(),
    });
  }

  send(events: readonly unknown[]): Promise<Response> {
    return this.#fetch(`${this.url}/api/v1/audit`, {
      method: 'POST',
      headers: { 'x-api-key': this.#key, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(events)),
      signal: answered(),
    });
  }

  record(events: number): Promise<Response> {
    return this.send(Array.from({ length: events }, () => sourceEvent({})));
  }
}

export interface OnServer {
  readonly engine: PlainEngine;
  readonly living: TestServer;
  readonly target: Target;
  readonly tenant: Tenant;
  stop(): Promise<void>;
}

/**
 * Two services on an engine, of which one was killed with an event in its log: the feed waits for it. The clock of the
 * other one is behind.
 */
export async function startWithDeadWriter(): Promise<OnServer> {
  const engine = await startPlainEngine();
  const proxy = await startFaultProxy(engine.port);
  const env = { ...engine.env, RATE_LIMIT_TENANT: 'off' };
  const clock = new URL('../../support/shifted-clock.mjs', import.meta.url).href;
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
  return { engine, living, target: { job: 'shared', port: living.port }, tenant, stop };
}
