import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { call } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, startServer } from '../support/server.ts';
import { type Example, goExample, pythonExample, runUnitTests, skipGo, skipPython } from './programs.ts';

/** `npm run test:clients`: the clients in other languages, their own tests, and a server that is killed. */

const count = 3000;
const perSecond = 1000;

async function surviveKill(start: (url: string, key: string) => Example): Promise<void> {
  const dataDir = await temporaryDirectory();
  // Not a port that the system assigns to connections, because the server must get it again.
  const env = { PORT: String(20_000 + Math.floor(Math.random() * 10_000)) };
  let server = await startServer({ dataDir, env });
  try {
    const tenant = await createTenant(server, 'killed');
    const program = start(server.url, tenant.key);
    await program.half;
    await server.kill('SIGKILL');
    server = await startServer({ dataDir, env });
    await program.report;
    const now = tenant.with({ server });
    await now.caughtUp();
    const answer = await call(`${server.url}/api/v1/audit/export`, { headers: { 'x-api-key': tenant.key } });
    const lines = answer.text.split('\n').filter((line) => line !== '');
    const numbers = lines.flatMap((line) => {
      const { extra_map: extra } = JSON.parse(line) as { extra_map?: { n?: number } };
      return extra?.n === undefined ? [] : [extra.n];
    });
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: count }, (_, n) => n),
    );
  } finally {
    await server.stop();
    await removeDirectory(dataDir);
  }
}

describe('Python', { skip: skipPython }, () => {
  test('unit tests', () => runUnitTests('python'));
  test('a server that is killed and restarted: nothing lost, nothing twice', () =>
    surviveKill((url, key) => pythonExample(url, key, count, perSecond)));
});

describe('Go', { skip: skipGo }, () => {
  test('unit tests', () => runUnitTests('go'));
  test('a server that is killed and restarted: nothing lost, nothing twice', () =>
    surviveKill((url, key) => goExample(url, key, count, perSecond)));
});
