import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { openFileSource, openInputSource } from '../../src/tools/import-source.ts';
import { all, cutInto } from './import-support.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'auditlog-import-'));
});
after(() => rm(directory, { recursive: true, force: true }));

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

test('a pipe is read once from its beginning, as standard input is', { timeout: 20_000 }, async () => {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const text = Buffer.from('{"a":1}\n'.repeat(100_000));
  const written = writeFile(path, gzipSync(text));
  const source = await openFileSource(path);
  assert.equal(source.path, undefined);
  assert.ok(Buffer.concat(await all(source.text(0))).equals(text));
  await written;
  // A command refused for another reason does not wait for a writer.
  const unread = await openFileSource(path);
  await rm(path);
  await assert.rejects(all(unread.text(0)), /ENOENT/);
  assert.equal((await openFileSource('/dev/null')).path, undefined);
});

test('data that follows a compressed stream is an error, not ignored', async () => {
  const text = Buffer.from('{"a":1}\n'.repeat(1000));
  const br = brotliCompressSync(text);
  for (const [name, bytes] of Object.entries({
    'two.br': Buffer.concat([br, br]),
    'padded.gz': Buffer.concat([gzipSync(text), Buffer.alloc(1), gzipSync(text)]),
  })) {
    const path = join(directory, name);
    await writeFile(path, bytes);
    const source = await openFileSource(path);
    await assert.rejects(all(source.text(0)), /the file has extra bytes after its (br|gzip) data/, name);
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
