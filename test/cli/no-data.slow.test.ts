import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openStorage } from '../../src/storage/client.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { printed, runCliHere } from '../support/server.ts';
import { commandsThat, lineOf } from './every-command.ts';

/** Commands with CLICKHOUSE_URL: the data are in the server, with or without a DATA_DIR. */

let root: string;
let engine: PlainEngine;
before(async () => {
  [root, engine] = await Promise.all([temporaryDirectory(), startPlainEngine()]);
});
after(async () => {
  await engine?.stop();
  if (root !== undefined) await removeDirectory(root);
});

const run = (args: readonly string[], stdin?: string) =>
  runCliHere(args, { dataDir: join(root, 'absent'), env: engine.env, stdin });

/** These concern the server of a DATA_DIR. */
const ofDirectory = ['status', 'stop'];
/** A ClickHouse server manages its own parts. */
const notWithServer = ['backup', 'doctor --detach', 'doctor --record-missing', 'doctor --repair'];
const ofData = commandsThat('data').filter((name) => ![...ofDirectory, ...notWithServer].includes(name));

async function databases(): Promise<string[]> {
  const { url, owner: user, password } = engine;
  const storage = openStorage({ url, user, password, database: 'default', headers: {} }, silentLog);
  try {
    const rows = await storage.rows<{ name: string }>('SELECT name FROM system.databases');
    return rows.map(({ name }) => name);
  } finally {
    await storage.close();
  }
}

test('in a server without data they name the database, end with 2 and make nothing', async () => {
  const before = await databases();
  for (const name of ofData) {
    const { args, stdin } = lineOf(name, root);
    const { code, stdout, stderr } = await run(args, stdin);
    // The erasure of a person first needs the servers' secret.
    const words =
      name === 'erase' ? /PSEUDONYM_SECRET is not set/ : /There is no data in the database "audit" of the/;
    assert.match(stderr, words, name);
    assert.deepEqual([code, stdout], [2, ''], name);
  }
  assert.deepEqual(await databases(), before);
  assert.ok(!existsSync(join(root, 'absent')));
});

test('in a server with data they work without a DATA_DIR, and make none', async () => {
  printed(await run(['init', '--org', 'acme', '--email', 'ann@acme.example', '--json']));
  for (const name of ['org list', 'org set', 'user list', 'key create', 'sign-on set', 'export']) {
    const { args, stdin } = lineOf(name, root);
    const { code, stderr } = await run(args, stdin);
    assert.equal(code, 0, `${name}: ${stderr}`);
  }
  const { checks } = JSON.parse((await run(['doctor', '--json'])).stdout) as { checks: { name: string }[] };
  assert.ok(checks.some(({ name }) => name === 'data_directory'));
  const sealed = await run(
    ['sign-on', 'set', '--org', 'acme', '--provider', 'own', '--issuer', 'https://id.example'].concat([
      '--client-id',
      'x',
      '--client-secret-stdin',
    ]),
    'secret',
  );
  assert.match(sealed.stderr, /SESSION_SECRET is not set, and there is no data in DATA_DIR/);
  for (const name of ofDirectory) {
    const { code, stderr } = await run(lineOf(name, root).args);
    assert.match(stderr, /there is no data in DATA_DIR .*: name the directory of the service/, name);
    assert.equal(code, 2, name);
  }
  assert.ok(!existsSync(join(root, 'absent')));
});
