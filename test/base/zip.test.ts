import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { unzip, zip } from '../../src/base/bytes/zip.ts';

const files = [
  { name: 'README.txt', bytes: Buffer.from('Zoë\n') },
  { name: 'empty', bytes: Buffer.alloc(0) },
  { name: 'many.ndjson', bytes: Buffer.from('{"a":1}\n'.repeat(10_000)) },
];
const madeMs = Date.parse('2026-05-04T03:02:02Z');

const textsOf = (found: ReadonlyMap<string, Buffer>) =>
  Array.from(found, ([name, bytes]) => ({ name, text: bytes.toString('latin1') }));

/** Runs a program on a .zip; undefined where it is not installed. */
function outputOf(command: string, argumentsBefore: readonly string[], bytes: Buffer): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'zip-'));
  try {
    const path = join(directory, 'case.zip');
    writeFileSync(path, bytes);
    const { error, status, stdout, stderr } = spawnSync(command, [...argumentsBefore, path], {
      encoding: 'utf8',
    });
    if (error !== undefined) return undefined;
    assert.equal(status, 0, stderr);
    return stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('a .zip', () => {
  test('has its files with any content', async () => {
    const file = fc.record({ name: fc.string({ minLength: 1 }), bytes: fc.uint8Array({ maxLength: 500 }) });
    const list = fc.uniqueArray(file, { selector: ({ name }) => name, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(list, async (some) => {
        const named = some.map((one) => ({ ...one, bytes: Buffer.from(one.bytes) }));
        const found = await unzip(await zip(named, madeMs), 10_000);
        assert.deepEqual(
          textsOf(found),
          named.map(({ name, bytes }) => ({ name, text: bytes.toString('latin1') })),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('is one for other programs, too', async () => {
    const bytes = await zip(files, madeMs);
    const script =
      'import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n' +
      'for i in z.infolist(): print(i.filename, i.file_size, i.date_time)';
    const python = outputOf('python3', ['-c', script], bytes);
    const time = '(2026, 5, 4, 3, 2, 2)';
    if (python !== undefined)
      assert.equal(python, `README.txt 5 ${time}\nempty 0 ${time}\nmany.ndjson 80000 ${time}\n`);
    const tested = outputOf('unzip', ['-t'], bytes);
    if (tested !== undefined) assert.match(tested, /No errors detected/);
  });

  test('is refused where a byte of a file differs, an end is missing, or there is too much in it', async () => {
    const bytes = await zip(files, madeMs);
    const differing = Buffer.from(bytes);
    differing.writeUInt8(bytes.readUInt8(45) ^ 1, 45);
    await assert.rejects(unzip(differing, 100_000), /damaged/);
    await assert.rejects(unzip(bytes.subarray(0, -1), 100_000), /no whole/);
    await assert.rejects(unzip(Buffer.from('text'), 100_000), /no whole/);
    await assert.rejects(unzip(bytes, 70_000), /too large/);
  });
});
