import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import { ZstdCompressor } from '../../src/base/bytes/zstd-compressor.ts';
import { compressZstd, loadZstd } from '../../src/base/bytes/zstd.ts';
import { decompressZstdStream } from '../../src/base/bytes/zstd-stream.ts';

before(loadZstd);

/** Written by the zstd command with --check: "hello hello hello hello\n". */
const checked = Buffer.from('28b52ffd04586d00003868656c6c6f200a0100994b11a87c2ea8', 'hex');
const skippable = Buffer.from('532a4d18050000000102030405', 'hex');
const empty = Buffer.from('28b52ffd2000010000', 'hex');

/** What comes out when the bytes arrive in pieces of these sizes, over and over. */
async function decompress(bytes: Buffer, sizes: readonly number[] = [bytes.length]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += (pieces.at(-1) as Buffer).length)
    pieces.push(bytes.subarray(at, at + (sizes[pieces.length % sizes.length] as number)));
  const found: Buffer[] = [];
  for await (const part of decompressZstdStream(Readable.from(pieces))) found.push(part);
  return Buffer.concat(found);
}

async function streamed(bytes: Buffer): Promise<Buffer> {
  const compressor = new ZstdCompressor(1);
  compressor.end(bytes);
  return Buffer.concat((await compressor.toArray()) as Buffer[]);
}

function text(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length, `row ${seed} of events, `);
  for (let at = 0; at < length; at += 97) bytes[at] = (Math.imul(at + 1, seed + 31) >>> 3) & 0xff;
  return bytes;
}

test('frames of every kind are decoded, in any pieces', async () => {
  const frame = fc.oneof(
    fc.record({ kind: fc.constant('whole' as const), length: fc.integer({ min: 0, max: 400_000 }) }),
    fc.record({ kind: fc.constant('streamed' as const), length: fc.integer({ min: 0, max: 400_000 }) }),
    fc.record({ kind: fc.constantFrom('checked' as const, 'skippable' as const, 'empty' as const) }),
  );
  const frames = fc.array(frame, { minLength: 1, maxLength: 4 });
  const sizes = fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(frames, sizes, async (kinds, pieces) => {
      const packed: Buffer[] = [];
      const expected: Buffer[] = [];
      for (const [seed, one] of kinds.entries()) {
        if (one.kind === 'checked') expected.push(Buffer.from('hello hello hello hello\n'));
        if ('length' in one) expected.push(text(one.length, seed));
        if (one.kind === 'whole') packed.push(compressZstd(text(one.length, seed), 3));
        else if (one.kind === 'streamed') packed.push(await streamed(text(one.length, seed)));
        else packed.push({ checked, skippable, empty }[one.kind]);
      }
      const whole = Buffer.concat(packed);
      // Few bytes at a time would take long for large ones.
      const least = Math.ceil(whole.length / 2_000);
      const found = await decompress(
        whole,
        pieces.map((size) => Math.max(size, least)),
      );
      assert.ok(found.equals(Buffer.concat(expected)));
    }),
    { numRuns: 40 },
  );
  assert.equal((await decompress(checked, [1])).toString(), 'hello hello hello hello\n');
});

test('a frame larger than any buffer is decompressed as it is read, and no faster', async () => {
  const zeros = compressZstd(Buffer.alloc(64 * 1024 * 1024), 3);
  let bytes = 0;
  for await (const part of decompressZstdStream(Readable.from([zeros]))) {
    bytes += part.length;
    assert.ok(part.length <= 128 * 1024, `${part.length} bytes at once`);
  }
  assert.equal(bytes, 64 * 1024 * 1024);
});

test('damaged, truncated and other data is an error without wrong output', async () => {
  const content = Buffer.from('{"time":"2026-01-01T00:00:00Z","message":{"action":1001}}\n'.repeat(300));
  const frame = compressZstd(content, 3);
  for (let length = 1; length < frame.length; length++)
    await assert.rejects(decompress(frame.subarray(0, length)), /zstd data is/, `cut to ${length} bytes`);
  for (const junk of ['more', 'no zstd at all'])
    await assert.rejects(decompress(Buffer.concat([frame, Buffer.from(junk)])), /malformed/);
  const damage = fc.asyncProperty(
    fc.nat(checked.length - 1),
    fc.integer({ min: 1, max: 255 }),
    async (place, flip) => {
      const damaged = Buffer.from(checked);
      damaged[place] = (damaged[place] as number) ^ flip;
      // The bit that says that there is a checksum makes it another frame, as does the one of the window's size.
      const found = await decompress(damaged).catch(() => undefined);
      if (found !== undefined && place !== 4 && place !== 5)
        assert.equal(found.toString(), 'hello hello hello hello\n');
    },
  );
  await fc.assert(damage, { numRuns: 500 });
  const last = Buffer.from(checked);
  last[last.length - 1] = (last.at(-1) as number) ^ 1;
  await assert.rejects(decompress(last), /malformed/);
  await assert.rejects(decompress(Buffer.concat([last, frame])), /malformed/);
});

test('a frame that needs too much memory or a dictionary, or has tables that lead nowhere, is refused', async () => {
  const tables = Buffer.from(
    'KLUv/WCuBdUBAEKDCxHw65lcYZtMX/PwQeKHPlNRAe/ln2q1UDPFTr2nMLbJwET/kcc8ivBg9SbU7AICAMnJ1XcVXBM=',
    'base64',
  ).toString('hex');
  for (const hex of ['28b52ffd00f809000078', '28b52ffd21070109000078', tables])
    await assert.rejects(decompress(Buffer.from(hex, 'hex')), /malformed/);
});
