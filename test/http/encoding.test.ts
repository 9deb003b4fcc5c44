import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import { decompress } from 'fzstd';
import { decompressZstd, loadZstd } from '../../src/base/bytes/zstd.ts';
import { limits } from '../../src/http/limits.ts';
import { createCompressor, isCompressible, negotiateEncoding } from '../../src/http/encoding.ts';

const nodeHasZstd = 'zstdCompress' in process.getBuiltinModule('node:zlib');

test('the encoding is the one the client likes best', () => {
  const pick = negotiateEncoding;
  assert.equal(pick(undefined), undefined);
  assert.equal(pick(''), undefined);
  assert.equal(pick('identity'), undefined);
  assert.equal(pick('deflate'), undefined);
  assert.equal(pick('gzip'), 'gzip');
  assert.equal(pick('x-gzip'), 'gzip');
  assert.equal(pick('GZIP; Q=0.3 , br;q=0.2'), 'gzip');
  assert.equal(pick('gzip;q=0, br;q=0'), undefined);
  assert.equal(pick('*;q=0.5, br;q=0, zstd;q=0'), 'gzip');
  assert.equal(pick('gzip;q=0.5, identity'), undefined);
  assert.equal(pick('identity;q=0.5, gzip'), 'gzip');
  assert.equal(pick('identity;q=0'), undefined);
  assert.equal(pick('zstd'), 'zstd');
  assert.equal(pick('gzip;q=nonsense'), undefined);
  assert.ok(['br', 'zstd'].includes(pick('gzip, deflate, br, zstd') ?? ''));
});

/** Length of the zstd frame at the beginning, by its blocks (RFC 8878). */
function frameBytes(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  assert.equal(view.getUint32(0, true), 0xfd2fb528);
  const flags = view.getUint8(4);
  const single = (flags & 32) !== 0;
  let at = 5 + (single ? 0 : 1) + ([single ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0);
  for (let last = false; !last; ) {
    const head = view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
    last = (head & 1) === 1;
    at += 3 + (((head >> 1) & 3) === 1 ? 1 : head >> 3);
  }
  return at + ((flags & 4) === 0 ? 0 : 4);
}

/** Repeatable bytes that compress well, badly, or alternately. */
function content(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length, `row ${seed} of events, `);
  let state = seed + 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    if ((at >> 14) % 3 === seed % 3) bytes[at] = state >>> 24;
  }
  return bytes;
}

before(loadZstd);

/**
 * All content is in the first frame, where many readers stop, and two decoders read it. Node's encoder adds an
 * empty frame.
 */
function assertZstd(packed: Uint8Array, expected: Uint8Array): void {
  const first = packed.subarray(0, frameBytes(packed));
  assert.ok(nodeHasZstd || first.length === packed.length, 'ours is one frame');
  assert.ok(decompressZstd(first, expected.length).equals(expected));
  assert.ok(Buffer.from(decompress(packed)).equals(expected));
}

test('zstd: decodes to its input, in any pieces, with many concurrent streams', async () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(lengths, { minLength: 1, maxLength: 6 }), async (streams) => {
      const packed = await Promise.all(
        streams.map(async (pieces, seed) => {
          const chunks = pieces.map((length, n) => content(length, seed + n));
          const compressor = createCompressor('zstd');
          Readable.from(chunks).pipe(compressor);
          const out = Buffer.concat((await compressor.toArray()) as Buffer[]);
          return { out, expected: Buffer.concat(chunks) };
        }),
      );
      for (const { out, expected } of packed) assertZstd(out, expected);
    }),
    { numRuns: 8 },
  );
});

test('zstd: so many streams at once and no more, and one that is given up makes room', async () => {
  if (nodeHasZstd) return;
  const open = Array.from({ length: limits.zstdCompressorsMax }, () => createCompressor('zstd'));
  assert.equal(negotiateEncoding('zstd, gzip;q=0.1'), 'gzip');
  assert.equal(negotiateEncoding('zstd'), undefined);
  const closed = open.map((compressor) => new Promise((resolve) => compressor.once('close', resolve)));
  for (const [n, compressor] of open.entries()) {
    if (n % 2 === 0) compressor.write(content(300_000, n));
    compressor.destroy();
  }
  await Promise.all(closed);
  assert.equal(negotiateEncoding('zstd, gzip;q=0.1'), 'zstd');
});

test('no header makes it fail, and only named or starred encodings are chosen', () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      const chosen = negotiateEncoding(header);
      assert.ok(chosen === undefined || header.toLowerCase().includes(chosen) || header.includes('*'));
    }),
  );
});

test('texts are worth encoding, other types are not', () => {
  for (const type of [
    'application/json',
    'application/problem+json',
    'application/x-ndjson',
    'text/csv; charset=utf-8',
    'text/html',
  ])
    assert.ok(isCompressible(type), type);
  for (const type of ['image/png', 'application/octet-stream', 'application/zstd', 'font/woff2'])
    assert.ok(!isCompressible(type), type);
});
