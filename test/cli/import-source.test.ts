import { strict as assert } from 'node:assert';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import * as fc from 'fast-check';
import { limits } from '../../src/cli/limits.ts';
import { chunksOf, type ImportChunk } from '../../src/cli/import-chunks.ts';
import { openFileSource, openInputSource } from '../../src/cli/import-source.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'auditlog-import-'));
});
after(() => rm(directory, { recursive: true, force: true }));

async function* cutInto(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = at + Math.max(1, sizes[n % sizes.length] ?? 1);
    yield bytes.subarray(at, end);
    at = end;
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const chunks = (bytes: Buffer, sizes: readonly number[], offset = 0, firstLine = 1): Promise<ImportChunk[]> =>
  all(chunksOf(cutInto(bytes.subarray(offset), sizes), { offset, firstLine }));

const shown = (found: readonly ImportChunk[]) =>
  found.map(({ lines, ...rest }) => ({ ...rest, lines: lines.map((line) => line.toString('latin1')) }));

test('lines and their numbers are those of the text, however it is read', async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\n', '')),
    fc.constantFrom('', ' \t\r', '{}', '\r', 'é'),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 40 }),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      async (lines, endsInNewline, sizes) => {
        const text = Buffer.from(lines.join('\n') + (endsInNewline ? '\n' : ''));
        const found = await chunks(text, sizes);
        const expected = text
          .toString()
          .split('\n')
          .map((content, index) => [index + 1, content] as const)
          .filter(([, content]) => !/^[ \t\r]*$/.test(content));
        assert.deepEqual(
          found.flatMap((chunk) => chunk.lines.map((one, n) => [chunk.numbers[n], one.toString()])),
          expected,
        );
        assert.equal(found.at(-1)?.end ?? 0, text.length);
      },
    ),
  );
});

test('chunks end where the text says: the same for every way of reading, and from every chunk on', async () => {
  const lines = Array.from({ length: 30_000 }, (_, n) => `{"n":${n},"pad":"${'x'.repeat(n % 97)}"}`);
  const text = Buffer.from(lines.join('\n'));
  const whole = await chunks(text, [text.length]);
  assert.ok(whole.length > 2);
  for (const sizes of [[65_536], [100_000, 3, 777]]) {
    assert.deepEqual(shown(await chunks(text, sizes)), shown(whole));
  }
  const second = whole[1] as ImportChunk;
  const resumed = await chunks(text, [50_000], second.offset, second.numbers[0] ?? 0);
  assert.deepEqual(shown(resumed), shown(whole.slice(1)));
});

test('a line that is too long costs itself alone, and is not held', async () => {
  const long = 'x'.repeat(limits.importLineBytesMax + 1);
  const text = Buffer.from(`{"a":1}\n${long}\n{"b":2}\n${long}`);
  for (const sizes of [[text.length], [100_000]]) {
    const found = await chunks(text, sizes);
    assert.deepEqual(
      found.flatMap(({ lines }) => lines.map(String)),
      ['{"a":1}', '{"b":2}'],
    );
    assert.deepEqual(
      found.flatMap(({ tooLong }) => tooLong),
      [2, 4],
    );
    assert.equal(found.at(-1)?.end, text.length);
  }
});

test('the mark before UTF-8 is no part of the first line', async () => {
  const [chunk] = await chunks(Buffer.from('\ufeff{}\n\ufeff{}\n'), [5]);
  assert.deepEqual(chunk?.lines.map(String), ['{}', '\ufeff{}']);
});

test('plain, gzip, zstd and br give the same text, in one piece or several, from any byte on', async () => {
  const zstd = await Zstd.load();
  const compressZstd = (bytes: Buffer) => Buffer.from(zstd.compress(bytes));
  const text = Buffer.from(
    Array.from({ length: 20_000 }, (_, n) => `line ${n} ${'é'.repeat(n % 50)}\n`).join(''),
  );
  const half = text.length >> 1;
  const [first, second] = [text.subarray(0, half), text.subarray(half)];
  const files: Record<string, Buffer> = {
    'plain.ndjson': text,
    'one.gz': gzipSync(text),
    'two.gz': Buffer.concat([gzipSync(first), gzipSync(second)]),
    'misnamed.ndjson': gzipSync(text),
    'one.zst': compressZstd(text),
    'two.zst': Buffer.concat([compressZstd(first), compressZstd(second)]),
    'one.br': brotliCompressSync(text),
  };
  for (const [name, bytes] of Object.entries(files)) {
    const path = join(directory, name);
    await writeFile(path, bytes);
    for (const offset of [0, 1, half, text.length - 1, text.length]) {
      const source = await openFileSource(path);
      const found = Buffer.concat(await all(source.text(offset)));
      assert.ok(found.equals(text.subarray(offset)), `${name} from ${offset}`);
      assert.equal(source.fileBytesRead(), bytes.length, name);
    }
    if (name === 'one.br') continue;
    const input = openInputSource(Readable.from(cutInto(bytes, [1, 2, 5000]), { objectMode: false }));
    assert.ok(Buffer.concat(await all(input.text(0))).equals(text), `${name} from standard input`);
  }
});

test('compressed data that is cut short is an error, not an end', async () => {
  const zstd = await Zstd.load();
  const text = Buffer.from('{"a":1}\n'.repeat(100_000));
  for (const [name, bytes] of Object.entries({
    'cut.gz': gzipSync(text),
    'cut.zst': Buffer.from(zstd.compress(text)),
    'cut.br': brotliCompressSync(text),
  })) {
    const path = join(directory, name);
    await writeFile(path, bytes.subarray(0, bytes.length - 5));
    const source = await openFileSource(path);
    await assert.rejects(all(source.text(0)), name);
  }
});
