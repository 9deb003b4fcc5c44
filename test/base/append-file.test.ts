import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AppendFile } from '../../src/base/files/append-file.ts';
import { replaceFile } from '../../src/base/files/durable-file.ts';
import { fileErrorWords } from '../../src/base/errors/system-error.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

describe('a file that is appended to', () => {
  let directory: string;
  before(async () => {
    directory = await temporaryDirectory();
  });
  after(() => removeDirectory(directory));

  test('appends at the writer’s end of the file', async () => {
    const path = join(directory, 'data');
    const file = await AppendFile.open(path);
    await file.append(Buffer.from('one two'));
    await file.truncate(4);
    await file.append(Buffer.from('three'));
    await file.sync();
    assert.equal(file.bytes, 9);
    await file.close();
    assert.equal(await readFile(path, 'utf8'), 'one three');
  });

  test('is named where it cannot be written, though the system names no file that is open', async () => {
    const file = await AppendFile.open('/dev/full');
    const failure: unknown = await file.append(Buffer.from('x')).catch((error: unknown) => error);
    assert.equal(fileErrorWords(failure), '/dev/full: the disk is full');
    assert.equal(file.bytes, 0);
    await file.close();
  });

  test('and so is one that is put whole in the place of another', async () => {
    const path = join(directory, 'state');
    const failure: unknown = await replaceFile(join(directory, 'no', 'state'), '1').catch(
      (error: unknown) => error,
    );
    assert.equal(
      fileErrorWords(failure),
      `${join(directory, 'no', 'state.tmp')}: there is no such file or directory`,
    );
    await replaceFile(path, '1');
    assert.equal(await readFile(path, 'utf8'), '1');
  });
});
