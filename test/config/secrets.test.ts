import { strict as assert } from 'node:assert';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigError } from '../../src/config/config.ts';
import { makeDataDir, sessionSecret } from '../../src/config/secrets.ts';

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'auditlog-secrets-'));
});
after(() => rm(root, { recursive: true, force: true }));

const generated = (name: string) => sessionSecret({ sessionSecret: undefined, dataDir: join(root, name) });

test('a configured secret is taken as it is and nothing is written', async () => {
  const dataDir = join(root, 'configured');
  assert.equal(await sessionSecret({ sessionSecret: 'x'.repeat(32), dataDir }), 'x'.repeat(32));
  await assert.rejects(stat(dataDir));
});

test('a generated secret is private, long enough, and the same the next time', async () => {
  const secret = await generated('new');
  assert.ok(Buffer.byteLength(secret) >= 32);
  assert.equal((await stat(join(root, 'new'))).mode & 0o777, 0o700);
  assert.equal((await stat(join(root, 'new', 'session-secret'))).mode & 0o777, 0o600);
  assert.equal(await generated('new'), secret);
  assert.notEqual(await generated('other'), secret);
});

test('processes that start together agree, and leave no drafts', async () => {
  const secrets = await Promise.all(Array.from({ length: 20 }, () => generated('together')));
  assert.equal(new Set(secrets).size, 1);
  assert.deepEqual(await readdir(join(root, 'together')), ['session-secret']);
  assert.equal((await readFile(join(root, 'together', 'session-secret'), 'utf8')).trim(), secrets[0]);
});

test('a stored secret that is too short is refused, not replaced', async () => {
  await makeDataDir(join(root, 'short'));
  await writeFile(join(root, 'short', 'session-secret'), 'short\n');
  await assert.rejects(generated('short'), ConfigError);
});

test('a directory that exists keeps its mode', async () => {
  const dataDir = join(root, 'existing');
  await makeDataDir(dataDir);
  await chmod(dataDir, 0o750);
  await makeDataDir(dataDir);
  assert.equal((await stat(dataDir)).mode & 0o777, 0o750);
});
