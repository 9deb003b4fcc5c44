import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import * as fc from 'fast-check';
import { type ContentEncoding, decompressBody } from '../../src/ingest/decompress.ts';

const zstd = await Zstd.load();

/** A frame without the length of its content. */
function zstdStreamed(data: Uint8Array): Uint8Array {
  zstd.reset();
  return Buffer.concat([zstd.compressChunk(data), zstd.compressEnd()]);
}

const compressors: readonly [string, ContentEncoding, (data: Uint8Array) => Uint8Array][] = [
  ['gzip', 'gzip', (data) => gzipSync(data)],
  ['deflate (zlib format)', 'deflate', (data) => deflateSync(data)],
  ['deflate (bare stream)', 'deflate', (data) => deflateRawSync(data)],
  ['br', 'br', (data) => brotliCompressSync(data)],
  ['zstd', 'zstd', (data) => zstd.compress(data)],
  ['zstd without a content size', 'zstd', zstdStreamed],
  ['zstd at a high level', 'zstd', (data) => zstd.compress(data, 19)],
  [
    'zstd in several frames',
    'zstd',
    (data) =>
      Buffer.concat([zstd.compress(data.subarray(0, 10)), skippable(), zstdStreamed(data.subarray(10))]),
  ],
];

function skippable(): Buffer {
  const frame = Buffer.alloc(8 + 5);
  frame.writeUInt32LE(0x184d2a53, 0);
  frame.writeUInt32LE(5, 4);
  return frame;
}

describe('body decompression', () => {
  for (const [name, encoding, compress] of compressors) {
    it(`gives back what ${name} compressed, up to the bound and not a byte more`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uint8Array({ minLength: 11, maxLength: 3000 }),
          fc.nat(200),
          async (piece, times) => {
            const data = Buffer.concat(Array.from({ length: times + 1 }, () => piece));
            const small = compress(data);
            assert.ok(data.equals(await decompressBody(small, encoding, data.length)));
            await assert.rejects(decompressBody(small, encoding, data.length - 1), { code: 'too_large' });
          },
        ),
        { numRuns: 40 },
      );
    });

    it(`calls ${name} malformed when it is cut short`, async () => {
      const small = compress(Buffer.from('The quick brown fox jumps over the lazy dog. '.repeat(20)));
      for (let length = 0; length < small.length; length += 1 + Math.floor(small.length / 40)) {
        const cut = small.subarray(0, length);
        await assert.rejects(
          decompressBody(cut, encoding, 1e6),
          { code: 'malformed' },
          `cut to ${length} bytes`,
        );
      }
    });

    it(`answers damage in ${name} with an error of the client's, or with data`, async () => {
      const small = compress(
        Buffer.from('{"time":"2026-01-01T00:00:00Z","message":{"action":1001}}'.repeat(30)),
      );
      await fc.assert(
        fc.asyncProperty(fc.nat(small.length - 1), fc.integer({ min: 1, max: 255 }), async (place, flip) => {
          const damaged = Buffer.from(small);
          damaged[place] = (damaged[place] as number) ^ flip;
          try {
            assert.ok((await decompressBody(damaged, encoding, 1e6)).length <= 1e6);
          } catch (error) {
            const { code } = error as { code: string };
            assert.ok(code === 'malformed' || code === 'too_large', String(error));
          }
        }),
        { numRuns: 300 },
      );
    });
  }

  it('never drops what follows a stream: it reads on, or refuses the body by name', async () => {
    const [first, second] = [Buffer.from('{"a":1}\n'), Buffer.from('{"a":2}\n'.repeat(50))];
    for (const [name, encoding, compress] of compressors) {
      const twice = Buffer.concat([compress(first), compress(second)]);
      const parted = Buffer.concat([compress(first), Buffer.alloc(2), compress(second)]);
      const readsOn = encoding === 'gzip' || encoding === 'zstd';
      if (readsOn)
        assert.equal(
          Buffer.from(await decompressBody(twice, encoding, 1e6)).toString(),
          Buffer.concat([first, second]).toString(),
          name,
        );
      for (const bytes of readsOn ? [parted] : [twice, parted])
        await assert.rejects(decompressBody(bytes, encoding, 1e6), {
          code: 'malformed',
          message:
            encoding === 'zstd'
              ? /not valid zstd data/
              : new RegExp(`bytes after the end of its ${encoding} `),
        });
    }
  });

  it('refuses zstd frames that would take more memory than allowed, before decoding them', async () => {
    const window = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00]);
    await assert.rejects(decompressBody(window, 'zstd', 32 * 1024 * 1024), { code: 'too_large' });
    const content = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x01, 0x00, 0x00]);
    await assert.rejects(decompressBody(content, 'zstd', 32 * 1024 * 1024), { code: 'too_large' });
  });

  it('comes to an end with a zstd frame whose tables lead nowhere', async () => {
    // A flipped bit in the weights of the Huffman tree: a decoder without a bound reads them without end.
    const frame =
      'KLUv/WCuBdUBAEKDCxHw65lcYZtMX/PwQeKHPlNRAe/ln2q1UDPFTr2nMLbJwET/kcc8ivBg9SbU7AICAMnJ1XcVXBM=';
    await assert.rejects(decompressBody(Buffer.from(frame, 'base64'), 'zstd', 1e6), { code: 'malformed' });
  });

  it('accepts zstd frames without content, but not with content that they deny', async () => {
    const empty = Buffer.from('28b52ffd2000010000', 'hex');
    const text = zstd.compress(Buffer.from('hello hello hello hello'.repeat(9)));
    const around = Buffer.concat([empty, text, zstdStreamed(new Uint8Array()), empty]);
    assert.equal(
      Buffer.from(await decompressBody(around, 'zstd', 1e6)).toString(),
      'hello hello hello hello'.repeat(9),
    );
    const denied = Buffer.from(text);
    assert.equal((denied[4] as number) & 0xe0, 0x20, 'one byte for the size');
    denied[5] = 0;
    await assert.rejects(decompressBody(denied, 'zstd', 1e6), { code: 'malformed' });
  });

  it('notices a zstd checksum that does not match', async () => {
    // Written by the zstd command with --check: "hello hello hello hello\n".
    const checked = Buffer.from('28b52ffd04586d00003868656c6c6f200a0100994b11a87c2ea8', 'hex');
    assert.equal(
      Buffer.from(await decompressBody(checked, 'zstd', 1e6)).toString(),
      'hello hello hello hello\n',
    );
    const last = checked.length - 1;
    checked[last] = (checked[last] as number) ^ 1;
    await assert.rejects(decompressBody(checked, 'zstd', 1e6), { code: 'malformed' });
  });
});
