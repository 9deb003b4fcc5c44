import { strict as assert } from 'node:assert';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigError } from '../../src/config/config.ts';
import { makeDataDir } from '../../src/config/data-dir.ts';
import { evidenceKeys, sessionSecret } from '../../src/config/secrets.ts';
import { type LoggedLine, recordingLogger } from '../http/support.ts';

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'auditlog-secrets-'));
});
after(() => rm(root, { recursive: true, force: true }));

const logged: LoggedLine[] = [];
const log = recordingLogger(logged);
const generated = (name: string) =>
  sessionSecret({ sessionSecret: undefined, dataDir: join(root, name) }, log);
const modeOf = async (...path: string[]) => (await stat(join(root, ...path))).mode & 0o777;

test('a configured secret is used as it is and nothing is written', async () => {
  const dataDir = join(root, 'configured');
  assert.equal(await sessionSecret({ sessionSecret: 'x'.repeat(32), dataDir }, log), 'x'.repeat(32));
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

test('a replaced evidence key is in a file, with a given or a generated successor', async () => {
  const dataDir = join(root, 'evidence');
  const keys = (evidenceKey?: string) => evidenceKeys({ evidenceKey, dataDir }, log, () => 'made');
  assert.deepEqual(await keys('given'), { current: 'given', previous: undefined });
  assert.deepEqual(await keys(), { current: 'made', previous: undefined });
  await writeFile(join(dataDir, 'evidence-key.previous'), 'old\n');
  assert.deepEqual(await keys(), { current: 'made', previous: 'old' });
  assert.deepEqual(await keys('given'), { current: 'given', previous: 'old' });
  assert.equal(await modeOf('evidence', 'evidence-key.previous'), 0o600);
});

test('processes that start together agree, and leave no drafts', async () => {
  const secrets = await Promise.all(Array.from({ length: 20 }, () => generated('together')));
  assert.equal(new Set(secrets).size, 1);
  assert.deepEqual(await readdir(join(root, 'together')), ['session-secret']);
  assert.equal((await readFile(join(root, 'together', 'session-secret'), 'utf8')).trim(), secrets[0]);
});

test('a stored secret that is too short is refused, not replaced', async () => {
  await makeDataDir(join(root, 'short'), log);
  await writeFile(join(root, 'short', 'session-secret'), 'short\n');
  await assert.rejects(generated('short'), ConfigError);
});

test('an accessible directory of the service is made private, with one message', async () => {
  for (const [name, mode] of [
    ['empty', 0o755],
    ['used', 0o770],
  ] as const) {
    const dataDir = join(root, name);
    if (name === 'used') await generated(name);
    await mkdir(dataDir, { recursive: true });
    await chmod(dataDir, mode);
    logged.length = 0;
    await makeDataDir(dataDir, log);
    assert.equal(await modeOf(name), 0o700);
    await makeDataDir(dataDir, log);
    assert.deepEqual(
      logged.map(({ level, facts }) => [level, facts]),
      [['warn', { path: dataDir, mode: mode.toString(8).padStart(4, '0') }]],
    );
  }
});

test('a shared directory keeps its mode, empty or not', async () => {
  const dataDir = join(root, 'shared');
  await mkdir(dataDir);
  await chmod(dataDir, 0o1777);
  for (const made of [[], ['engine'], ['wal', 'session-secret']]) {
    for (const name of made) await mkdir(join(dataDir, name));
    await assert.rejects(makeDataDir(dataDir, log), ConfigError);
    assert.equal((await stat(dataDir)).mode & 0o7777, 0o1777);
  }
});

test('a directory with other files is refused and unchanged, unless it is private', async () => {
  const dataDir = join(root, 'home');
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'letter.txt'), 'x');
  await chmod(dataDir, 0o700);
  await makeDataDir(dataDir, log);
  for (const mode of [0o750, 0o755, 0o701, 0o1777]) {
    await chmod(dataDir, mode);
    await assert.rejects(makeDataDir(dataDir, log), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.ok(error.message.startsWith(`DATA_DIR is ${JSON.stringify(dataDir)}: `), error.message);
      assert.ok(error.message.includes(`0${mode.toString(8)}`.slice(-4)), error.message);
      assert.equal(error.message.split('\n').length, 1);
      return true;
    });
    assert.equal((await stat(dataDir)).mode & 0o7777, mode);
  }
  await chmod(dataDir, 0o700);
});

test('a readable secret is made private, with a message without the secret', async () => {
  const secret = await generated('loose');
  await chmod(join(root, 'loose', 'session-secret'), 0o644);
  logged.length = 0;
  assert.equal(await generated('loose'), secret);
  assert.equal(await modeOf('loose', 'session-secret'), 0o600);
  assert.equal(logged.length, 1);
  assert.match(logged[0]?.words ?? '', /others could read the key/);
  assert.ok(!JSON.stringify(logged).includes(secret));
  assert.equal(await generated('loose'), secret);
  assert.equal(logged.length, 1);
});
