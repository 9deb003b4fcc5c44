import { strict as assert } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createServer, type Server } from 'node:tls';
import { loadConfig } from '../../src/config/config.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { EngineTls } from '../../src/storage/storage.ts';
import { type Authority, type Certificate, makeAuthority } from '../support/certificates.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

/** The engine behind TLS, as a proxy before it or the server itself has it: only known certificates may connect. */
function tlsFront(engineUrl: string, own: Certificate, authority: Authority): Promise<Server> {
  const { hostname: host, port } = new URL(engineUrl);
  const options = { cert: own.cert, key: own.key, ca: authority.cert, requestCert: true };
  const server = createServer({ ...options, rejectUnauthorized: true }, (client) => {
    const engine = connect({ host, port: Number(port) });
    client.pipe(engine).pipe(client);
    for (const [one, other] of [
      [client, engine],
      [engine, client],
    ] as const)
      one.on('error', () => other.destroy());
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('a ClickHouse server behind TLS', () => {
  let engine: SharedEngine;
  let directory = '';
  let front: Server | undefined;
  let authority: Authority | undefined;
  let client: Certificate | undefined;
  let both = '';
  before(async () => {
    engine = await sharedEngine();
    directory = await temporaryDirectory();
    authority = await makeAuthority(directory);
    if (authority === undefined) return;
    client = await authority.issue('client');
    both = join(directory, 'both.pem');
    await writeFile(both, `${client.cert}${client.key}`);
    front = await tlsFront(engine.connection.url, await authority.issue('server'), authority);
  });
  after(async () => {
    front?.close();
    await removeDirectory(directory);
  });

  const open = (tls: EngineTls | undefined, host = '127.0.0.1') => {
    assert.ok(front);
    const { port } = front.address() as AddressInfo;
    return openStorage({ ...engine.connection, url: `https://${host}:${port}`, tls }, silentLog);
  };
  const skipped = (t: { skip(why: string): void }) => {
    if (authority === undefined) t.skip('NO openssl IS INSTALLED: TLS to the engine is not tested');
    return authority === undefined;
  };

  test('statements, rows and streams go by a private authority and a certificate, with the password', async (t) => {
    if (skipped(t)) return;
    const env = {
      CLICKHOUSE_URL: 'https://localhost:8443',
      CLICKHOUSE_CA: authority?.certFile,
      CLICKHOUSE_CERT: both,
    };
    for (const host of ['127.0.0.1', 'localhost']) {
      const storage = open(loadConfig(env).clickhouse.tls, host);
      const query = 'SELECT currentUser() AS user, number AS n FROM numbers(3)';
      const expected = [0, 1, 2].map((n) => ({ user: engine.connection.user, n: String(n) }));
      assert.deepEqual(await storage.rows(query), expected);
      assert.deepEqual(await storage.readRows(query), expected);
      await storage.close();
    }
  });

  test('a certificate without its key, or one for a server without TLS, is refused by name', (t) => {
    if (skipped(t)) return;
    const files = { CLICKHOUSE_CERT: both };
    const https = { CLICKHOUSE_URL: 'https://localhost:8443' };
    for (const environment of [
      { ...https, CLICKHOUSE_CERT: client?.certFile },
      { ...https, CLICKHOUSE_CERT: client?.keyFile },
      { ...files, CLICKHOUSE_URL: 'http://localhost:8123' },
      files,
    ])
      assert.throws(() => loadConfig(environment), {
        name: 'ConfigError',
        message: /CLICKHOUSE_CERT .*allowed/,
      });
  });

  test('without a certificate, or with an authority that did not sign for the server, nothing is sent', async (t) => {
    if (skipped(t)) return;
    const other = await makeAuthority(directory, 'other');
    const ca = authority?.cert;
    const { cert, key } = client ?? {};
    for (const tls of [undefined, { ca, cert: undefined, key: undefined }, { ca: other?.cert, cert, key }]) {
      const storage = open(tls);
      const unreachable = (error: unknown) => error instanceof EngineError && error.failure === 'unreachable';
      await assert.rejects(storage.rows('SELECT 1'), unreachable);
      await assert.rejects(storage.readRows('SELECT 1'), unreachable);
      await storage.close();
    }
  });
});
