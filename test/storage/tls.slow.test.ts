import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createServer, type Server } from 'node:tls';
import { promisify } from 'node:util';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { openStorage } from '../../src/storage/client.ts';
import { type Authority, type Certificate, makeAuthority } from '../support/certificates.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

/** The engine behind TLS, as a proxy before it or the server itself has it. */
function tlsFront(engineUrl: string, { cert, key }: Certificate): Promise<Server> {
  const { hostname: host, port } = new URL(engineUrl);
  const server = createServer({ cert, key }, (client) => {
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

const query = 'SELECT currentUser() AS user, number AS n FROM numbers(3)';
/** Node.js reads NODE_EXTRA_CA_CERTS once, when a process starts. */
const program = `
import { openStorage } from './src/storage/client.ts';
import { silentLog } from './test/support/engine.ts';
const storage = openStorage(JSON.parse(process.argv[1]), silentLog);
const query = ${JSON.stringify(query)};
console.log(JSON.stringify([await storage.rows(query), await storage.readRows(query)]));
await storage.close();`;
const run = promisify(execFile);

describe('a ClickHouse server behind TLS', () => {
  let engine: SharedEngine;
  let directory = '';
  let front: Server | undefined;
  let authority: Authority | undefined;
  before(async () => {
    engine = await sharedEngine();
    directory = await temporaryDirectory();
    authority = await makeAuthority(directory);
    if (authority !== undefined)
      front = await tlsFront(engine.connection.url, await authority.issue('server'));
  });
  after(async () => {
    front?.close();
    await removeDirectory(directory);
  });

  const connection = (host: string) => {
    assert.ok(front);
    return { ...engine.connection, url: `https://${host}:${(front.address() as AddressInfo).port}` };
  };
  const skipped = (t: { skip(why: string): void }) => {
    if (authority === undefined) t.skip('NO openssl IS INSTALLED: TLS to the engine is not tested');
    return authority === undefined;
  };

  test('statements, rows and streams trust an authority of NODE_EXTRA_CA_CERTS', async (t) => {
    if (skipped(t)) return;
    const rows = [0, 1, 2].map((n) => ({ user: engine.connection.user, n: String(n) }));
    for (const host of ['127.0.0.1', 'localhost']) {
      const { stdout } = await run(
        process.execPath,
        ['--import', 'tsx', '--input-type=module', '-e', program, JSON.stringify(connection(host))],
        { cwd: projectRoot, env: { ...process.env, NODE_EXTRA_CA_CERTS: authority?.certFile } },
      );
      assert.deepEqual(JSON.parse(stdout), [rows, rows]);
    }
  });

  test('with an authority that Node.js does not know, nothing is sent', async (t) => {
    if (skipped(t)) return;
    const storage = openStorage(connection('127.0.0.1'), silentLog);
    const unreachable = (error: unknown) => error instanceof EngineError && error.failure === 'unreachable';
    await assert.rejects(storage.rows('SELECT 1'), unreachable);
    await assert.rejects(storage.readRows('SELECT 1'), unreachable);
    await storage.close();
  });
});
