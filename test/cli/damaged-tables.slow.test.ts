import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { startTestEngine, type TestEngine } from '../support/engine.ts';
import { flipBit } from '../support/flip-bit.ts';
import { type CliAnswer, printed, runCliHere } from '../support/server.ts';
import { commandsThat, lineOf } from './every-command.ts';

/** Damages files of every table: `doctor` names them with a remedy, and no command shows text of the engine. */

const engineText = /DB::|Exception|Code: \d|while reading|checksum|codec|\/store\//i;

let engine: TestEngine;
let directory: string;
before(async () => {
  [engine, directory] = await Promise.all([startTestEngine(), temporaryDirectory()]);
  printed(await command(['init', '--org', 'acme', '--email', 'ann@acme.example', '--json']));
});
after(async () => {
  await engine?.stop();
  if (directory !== undefined) await removeDirectory(directory);
});

const command = (args: readonly string[], stdin?: string): Promise<CliAnswer> =>
  runCliHere(args, { dataDir: engine.dataDir, stdin });

interface Part {
  readonly table: string;
  readonly name: string;
  readonly path: string;
}

/** A row in every table, so that each has a part. */
async function fillAll(): Promise<Part[]> {
  const { storage } = engine;
  const tables = await storage.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'",
  );
  for (const { name } of tables)
    if (name !== 'schema_migrations')
      await storage.command(`SYSTEM STOP MERGES ${name}`).then(() => storage.insertRows(name, [{}]));
  const parts = await storage.rows<Part>(
    'SELECT table, name, path FROM system.parts WHERE database = currentDatabase() AND active',
  );
  assert.deepEqual(new Set(parts.map(({ table }) => table)), new Set(tables.map(({ name }) => name)));
  return parts;
}

interface Finding {
  readonly id: string;
  readonly remedy: string;
}

/** Findings of `doctor` about parts of tables. */
async function damagedParts(): Promise<readonly Finding[]> {
  const { stdout, stderr } = await command(['doctor', '--json']);
  assert.doesNotMatch(stdout + stderr, engineText);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; findings: Finding[] }[] };
  for (const { findings } of checks) for (const { remedy } of findings) assert.match(remedy, /./);
  return checks.find(({ name }) => name === 'parts_readable')?.findings ?? [];
}

test('doctor finds damaged evidence, and a command that reads it names doctor', async () => {
  const { storage } = engine;
  const [organization] = printed(await command(['org', 'list', '--json'])) as { id: string }[];
  await storage.insertRows('evidence_tiles', [{ org: organization?.id, width: 1 }]);
  const [part] = await storage.rows<Part>(
    "SELECT table, name, path FROM system.parts WHERE table = 'evidence_tiles' AND active",
  );
  await flipBit(join(part?.path ?? '', 'data.bin'));
  assert.deepEqual(await damagedParts(), [
    {
      id: `evidence_tiles/${part?.name}`,
      detail: 'damaged, with 1 row',
      remedy:
        'restore a backup (docs/back-up.md); "auditlog verify --copy" still verifies a copy of the trees',
    },
  ]);
  const answer = await command(['verify', '--org', 'acme']);
  assert.equal(answer.code, 1);
  assert.match(answer.stderr, /part all_\S+ of the table evidence_tiles is damaged; run "auditlog doctor"/);
  const people = await command(['doctor']);
  assert.match(
    people.stdout,
    /DAMAGED {2}parts_readable\n +evidence_tiles\/\S+: damaged, with 1 row\n +-> restore a/,
  );
});

test('a tree with a gap is damaged, too, however whole its parts are', async () => {
  const { storage } = engine;
  await storage.command('TRUNCATE TABLE evidence_tiles');
  await storage.insertRows(
    'evidence_tiles',
    [0, 1, 3].map((tile) => ({ tile, width: 256 })),
  );
  const { stdout, code } = await command(['doctor', '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; findings: { detail: string }[] }[] };
  const details = checks.find(({ name }) => name === 'trees_whole')?.findings.map(({ detail }) => detail);
  assert.deepEqual([code, details], [1, ['1 tiles of the tree of this organization are missing']]);
});

test('every table is looked at, and no command shows text of the engine', async () => {
  const parts = await fillAll();
  for (const { path } of parts) await flipBit(join(path, 'data.bin'));
  const found = await damagedParts();
  const ids = parts.map(({ table, name }) => (table === 'events' ? name : `${table}/${name}`));
  assert.deepEqual(found.map(({ id }) => id).toSorted(), ids.toSorted());

  const names = [...commandsThat('data'), 'init', 'org create'].filter(
    // They only ask the server, or have their own tests.
    (name) => !['status', 'stop', 'doctor', 'doctor --repair'].includes(name),
  );
  for (const name of names) {
    const { args, stdin } = lineOf(name, directory);
    const { code, stdout, stderr } = await command(args, stdin);
    assert.equal(code, 1, `${name}: ${stdout}`);
    assert.doesNotMatch(stdout + stderr, engineText, name);
    assert.match(stderr, /"auditlog doctor"/, name);
  }
});

test('--repair detaches damaged parts of rebuilt tables, and the service works again', async () => {
  const { stdout, code } = await command(['doctor', '--repair', '--json']);
  const { tables } = JSON.parse(stdout) as { tables: { table: string; parts_taken_out: string[] }[] };
  assert.equal(code, 0);
  for (const table of ['schema_migrations', 'leases', 'journal'])
    assert.ok((tables.find((one) => one.table === table)?.parts_taken_out.length ?? 0) > 0, table);
  assert.deepEqual(
    printed(await command(['org', 'list', '--json'])),
    [],
    'nothing is known without the journal',
  );
  const made = printed(await command(['org', 'create', '--slug', 'acme', '--name', 'Acme', '--json']));
  assert.equal((made as { slug: string }).slug, 'acme');
});
