import { strict as assert } from 'node:assert';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { checkLogFolder } from '../../../src/cli/doctor/damage.ts';
import { removeDirectory, temporaryDirectory } from '../../support/directories.ts';

describe('what doctor finds in the folder of the log', () => {
  let dataDir: string;
  const put = (name: string) => writeFile(join(dataDir, 'wal', name), 'x');
  const number = '0000000000000042';
  before(async () => {
    dataDir = await temporaryDirectory();
  });
  after(() => removeDirectory(dataDir));

  test('is nothing where there is no log, or segments that wait alone', async () => {
    assert.equal((await checkLogFolder(dataDir)).healthy, true);
    await mkdir(join(dataDir, 'wal'));
    await put(`${number}.wal`);
    const { healthy, notes } = await checkLogFolder(dataDir);
    assert.deepEqual([healthy, notes], [true, ['1 segments in the log']]);
  });

  test('lists every file of lost events, and notes unknown ones', async () => {
    for (const as of ['damaged', 'missing', 'refused', 'unknown', '2.unknown']) await put(`${number}.${as}`);
    const { healthy, findings, notes } = await checkLogFolder(dataDir);
    assert.equal(healthy, false);
    assert.deepEqual(
      findings.map(({ id }) => id),
      [`${number}.damaged`, `${number}.missing`, `${number}.refused`],
    );
    assert.deepEqual(
      notes.filter((note) => note.includes('unknown')).map((note) => note.split(':')[0]),
      [`${number}.2.unknown`, `${number}.unknown`],
    );
  });
});
