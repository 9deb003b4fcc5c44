import { strict as assert } from 'node:assert';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  makeDirectories,
  readIfThere,
  readOrCreateFile,
  replaceFile,
} from '../../src/base/files/durable-file.ts';
import { fileErrorWords } from '../../src/base/errors/system-error.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

let root: string;
before(async () => {
  root = await temporaryDirectory();
});
after(() => removeDirectory(root));

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test('directories are made with their parents, or the error names the reason', async () => {
  const path = join(root, 'a', 'b');
  await makeDirectories(path);
  await makeDirectories(path);
  assert.deepEqual([await modeOf(join(root, 'a')), await modeOf(path)], [0o700, 0o700]);
  await writeFile(join(path, 'file'), '');
  for (const below of ['file', 'file/c'])
    await assert.rejects(makeDirectories(join(path, below)), { code: 'ENOTDIR', path: /\/file/ });
  // Node's own way would try for ever, on a thread that nothing can end.
  if (process.platform === 'linux')
    await assert.rejects(makeDirectories('/proc/none/below'), { code: 'ENOENT', path: '/proc/none' });
});

describe('a file that is replaced', () => {
  test('has its new content and mode 0600, after any earlier attempt', async () => {
    const path = join(root, 'replaced');
    assert.equal(await readIfThere(path), undefined);
    await writeFile(`${path}.tmp`, 'of a killed process', { mode: 0o644 });
    await replaceFile(path, 'one');
    await replaceFile(path, 'two');
    assert.equal(await readIfThere(path), 'two');
    assert.equal(await modeOf(path), 0o600);
    await assert.rejects(stat(`${path}.tmp`));
  });

  test('leaves nothing behind where that fails', async () => {
    const path = join(root, 'directory');
    await mkdir(join(path, 'full'), { recursive: true });
    await assert.rejects(replaceFile(path, 'text'));
    assert.deepEqual(
      (await readdir(root)).filter((name) => name.startsWith('directory')),
      ['directory'],
    );
  });
});

test('the error of an unreadable file names it', async () => {
  // A directory is opened like a file, and only its reading fails, as on a disk that has failed.
  const path = join(root, 'unreadable');
  await mkdir(path);
  const isNamed = (error: unknown) => fileErrorWords(error) === `${path}: it is a directory`;
  await assert.rejects(readIfThere(path), isNamed);
  const files = await openLogFiles(root);
  await assert.rejects(files.read('unreadable'), isNamed);
  const reader = await files.openReader('unreadable');
  await assert.rejects(reader.read(Buffer.alloc(10), 0), isNamed);
  await reader.close();
});

test('processes that make a file together agree on its content', async () => {
  const path = join(root, 'made');
  const contents = await Promise.all(Array.from({ length: 20 }, (_, n) => readOrCreateFile(path, `${n}`)));
  assert.equal(new Set(contents).size, 1);
  assert.equal(await readOrCreateFile(path, 'late'), contents[0]);
  assert.equal(await modeOf(path), 0o600);
});
