import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { openStorage } from '../../src/storage/client.ts';
import { silentLog, startEngine } from '../support/engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { runCli } from '../support/server.ts';

/** Commands in their own processes, without a server. */

let dataDir: string;
before(async () => {
  dataDir = await temporaryDirectory();
});
after(() => removeDirectory(dataDir));

test('a command starts the engine for itself, leaves nothing running, and the next one sees its work', async () => {
  const made = await runCli(['org', 'create', '--slug', 'solo', '--name', 'Solo', '--json'], { dataDir });
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.equal(existsSync(join(dataDir, 'engine.json')), false);
  // Concurrent commands take turns: none may use an engine that another one ends.
  const keys = await Promise.all(
    ['read', 'write'].map((scopes) =>
      runCli(['key', 'create', '--org', 'solo', '--scopes', scopes], { dataDir }),
    ),
  );
  for (const { code, stderr } of keys) assert.equal(code, 0, stderr);
  const listed = await runCli(['key', 'list', '--json'], { dataDir });
  assert.equal(JSON.parse(listed.stdout).length, keys.length);
  // Without a server there is no evidence key and no signature.
  const verified = await runCli(['verify', '--org', 'solo'], { dataDir });
  assert.equal(verified.code, 1, verified.stderr);
  assert.match(verified.stdout, /unproven: no checkpoint is signed by a trusted key/);
  // The operator adds the secrets to a restored directory.
  const env = { OIDC_PROVIDER: 'http://auditlog@127.0.0.1:1' };
  assert.match((await runCli(['doctor', '--quick'], { dataDir, env })).stdout, /LOOK AT +sign_on/);
  assert.equal(existsSync(join(dataDir, 'session-secret')), false);

  // The organization's events show the changes of the commands.
  const { id } = JSON.parse(made.stdout) as { id: string };
  const engine = await startEngine(dataDir);
  const storage = openStorage(engine.connection, silentLog);
  try {
    const query =
      'SELECT activity_id, count() AS events FROM events WHERE org = {org:UUID} GROUP BY ALL ORDER BY ALL';
    const rows = await storage.rows<{ activity_id: string; events: string }>(query, { org: id });
    assert.deepEqual(
      rows.map((row) => [Number(row.activity_id), Number(row.events)]),
      [
        [1300, keys.length],
        [5010, 1],
      ],
    );
  } finally {
    await storage.close();
    await engine.stop();
  }
});

test('doctor names an unreadable part that its other checks do not read, and continues', async () => {
  const engine = join(dataDir, 'engine');
  const found = await readdir(engine, { recursive: true });
  const files = found.filter(
    (name) => /^store\/.*\/data\.bin$/.test(name) && found.includes(join(dirname(name), 'by_seq.proj')),
  );
  assert.notEqual(files.length, 0);
  for (const file of files) {
    const content = await readFile(join(engine, file));
    for (let at = 40; at < content.length; at += 97) content[at] = (content[at] ?? 0) ^ 0x5a;
    await writeFile(join(engine, file), content);
  }
  const { code, stdout, stderr } = await runCli(['doctor', '--json'], { dataDir });
  assert.equal(code, 1, stdout);
  assert.match(stderr, /stored data are damaged/);
  const { checks } = JSON.parse(stdout) as {
    checks: readonly { name: string; healthy: boolean; findings: readonly { id: string }[] }[];
  };
  const idsOf = (name: string) => checks.find((one) => one.name === name)?.findings.map(({ id }) => id) ?? [];
  const damaged = files.map((file) => basename(dirname(file))).toSorted();
  assert.deepEqual(idsOf('parts_readable').toSorted(), damaged);
  assert.ok(checks.some(({ name }) => name === 'permissions'));
});
