import { strict as assert } from 'node:assert';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { after, beforeEach, test } from 'node:test';
import { ControlCopy } from '../../src/storage/control-copy.ts';
import { replaces } from '../../src/storage/control-rows.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { rounds } from '../support/rounds.ts';

let dataDir = await temporaryDirectory();
after(() => removeDirectory(dataDir));
let copy: ControlCopy;
beforeEach(async () => {
  await removeDirectory(dataDir);
  dataDir = await temporaryDirectory();
  copy = new ControlCopy(dataDir);
});

const versions = async () => {
  const { rows } = await copy.content();
  return Object.fromEntries(Array.from(rows.get('users') ?? [], ([id, row]) => [id, Number(row['version'])]));
};

test('of each id the newest row counts, and of two of one version the one that ends more', async () => {
  await copy.put('users', [
    { id: 'a', version: 2 },
    { id: 'b', version: '7' },
  ]);
  await copy.put('users', [{ id: 'a', version: 1 }]);
  assert.deepEqual(await versions(), { a: 2, b: 7 });
  const [alive, disabled] = [
    { id: 'a', version: 1, disabled_at: null },
    { id: 'a', version: 1, disabled_at: 'x' },
  ];
  assert.deepEqual([replaces('users', disabled, alive), replaces('users', alive, disabled)], [true, false]);
  assert.ok(replaces('users', { ...alive, version: 2 }, disabled));
});

test('rows that are gone for good are no more, and those that come after them are', async () => {
  await copy.put('users', [
    { id: 'a', org: 'o', version: 1 },
    { id: 'b', org: 'p', version: 1 },
  ]);
  await copy.forget('users', { column: 'org', id: 'o' });
  assert.deepEqual(await versions(), { b: 1 });
  await copy.put('users', [{ id: 'a', org: 'o', version: 5 }]);
  await copy.forget('users', { column: 'id', id: 'a', below: 5 });
  assert.deepEqual(await versions(), { a: 5, b: 1 });
  assert.equal(await copy.newestVersion('users', 'a'), 5);
});

test('a line that a power cut has cut short is none, and is in nobody’s way', async () => {
  await copy.rewrite(new Map(), 0);
  await copy.put('users', [{ id: 'a', version: 1 }]);
  await appendFile(copy.path, 'c0ffee00 {"table":"users","ro');
  const { isWhole, isDue } = await copy.content();
  assert.deepEqual([isWhole, isDue, await versions()], [true, true, { a: 1 }]);
  const { rows, through } = await copy.content();
  await copy.rewrite(rows, through);
  assert.equal((await copy.content()).isDue, false);
  await appendFile(copy.path, 'c0ffee00 {"table":"users","ro');
  await copy.put('users', [{ id: 'b', version: 1 }]);
  assert.deepEqual(await versions(), { a: 1, b: 1 });
});

test('a changed bit anywhere costs its line, and is noticed', async () => {
  await copy.rewrite(new Map(), 0);
  await copy.put('users', [
    { id: 'a', version: 1 },
    { id: 'b', version: 1 },
  ]);
  const whole = await readFile(copy.path);
  for (let at = 0; at < whole.length - 1; at += 1) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
    await writeFile(copy.path, bytes);
    const { isWhole, damagedLines } = await copy.content();
    // An empty line that became another is damage, too.
    assert.ok(!isWhole && damagedLines > 0, `bit ${at % 8} of byte ${at}`);
    for (const version of Object.values(await versions())) assert.equal(version, 1);
  }
});

test('what a version has become is known without reading all again, also in a new file', async () => {
  assert.equal(await copy.newestVersion('users', 'a'), undefined);
  const other = new ControlCopy(dataDir);
  for (let version = 1; version <= 3; version += 1) {
    await other.put('users', [{ id: 'a', version }]);
    assert.equal(await copy.newestVersion('users', 'a'), version);
  }
  await other.rewrite(
    new Map([['users', new Map([['a', { id: 'a', version: 9 }]])]]),
    (await other.content()).through,
  );
  assert.equal(await copy.newestVersion('users', 'a'), 9);
  await rm(copy.path);
  assert.equal(await copy.newestVersion('users', 'a'), undefined);
});

test('nothing that is appended by others is lost while the file is written anew', async () => {
  const others = Array.from({ length: 4 }, () => new ControlCopy(dataDir));
  const each = rounds(40, 400);
  const written = new Set<number>();
  const writers = others.map(async (other, n) => {
    for (let i = 0; i < each; i += 1) await other.put('users', [{ id: `${n}-${i}`, version: 1 }]);
    written.add(n);
  });
  const rewriting = async () => {
    while (written.size < others.length) {
      const { rows, through } = await copy.content();
      await copy.rewrite(rows, through);
    }
  };
  await Promise.all([...writers, rewriting()]);
  assert.equal(Object.keys(await versions()).length, others.length * each);
  assert.ok((await copy.content()).isWhole);
});
