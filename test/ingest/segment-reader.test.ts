import { strict as assert } from 'node:assert';
import { randomFillSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { crc32c } from '@node-rs/crc32';
import * as fc from 'fast-check';
import { buffers } from '../../src/base/bytes/buffer-pool.ts';
import { limits as baseLimits } from '../../src/base/limits.ts';
import { type LogFiles, openLogFiles } from '../../src/ingest/files.ts';
import { limits } from '../../src/ingest/limits.ts';
import { readIntact } from '../../src/ingest/segment-reader.ts';
import {
  decodeSegment,
  encodeFileHeader,
  encodeManifestFrame,
  encodeRequests,
  fileHeaderBytes,
  type FrameInput,
  frameSeed,
  segmentName,
} from '../../src/ingest/segment.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

const number = 4711;
const { bufferPoolBytesMax } = baseLimits;
const random = randomFillSync(Buffer.alloc(limits.segmentPieceBytes * 4));

/** Sizes near that of a piece, and many small ones. */
const payloadBytes = fc.oneof(
  fc.integer({ min: 1, max: 300_000 }),
  fc.integer({ min: -100, max: 100 }).map((off) => limits.segmentPieceBytes + off),
  fc.integer({ min: limits.segmentPieceBytes, max: random.length }),
);
interface Part {
  readonly payloadBytes: number;
  readonly rows: number;
  readonly notes: string;
}
const frames = fc.array(
  fc.record<Part>({ payloadBytes, rows: fc.integer({ min: 1, max: 9 }), notes: fc.string() }),
  {
    minLength: 1,
    maxLength: 6,
  },
);

function segmentOf(parts: readonly Part[]): { bytes: Buffer; rows: number } {
  const inputs = parts.map(({ payloadBytes: length, rows, notes }): FrameInput => {
    const payload = random.subarray(random.length - length);
    return { payload, rows, notes, payloadCrc: crc32c(payload) };
  });
  const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
  const encoded = [
    ...encodeRequests([{ frames: inputs }], position),
    encodeManifestFrame({ version: 3, entries: [] }, position),
  ];
  const bytes = Buffer.concat([encodeFileHeader(number), ...encoded.flatMap((frame) => frame.parts)]);
  return { bytes, rows: inputs.reduce((sum, { rows }) => sum + rows, 0) };
}

describe('reading a sealed segment back in pieces', () => {
  let directory: string;
  let files: LogFiles;

  before(async () => {
    directory = await temporaryDirectory();
    files = await openLogFiles(directory);
  });
  after(() => removeDirectory(directory));

  const write = (content: Uint8Array): Promise<void> =>
    writeFile(join(directory, segmentName(number)), content);

  it('finds the frames that are found in the whole file, and gives its memory back', async () => {
    await fc.assert(
      fc.asyncProperty(frames, async (parts) => {
        const { bytes, rows } = segmentOf(parts);
        await write(bytes);
        const read = await readIntact(files, { number, bytes: bytes.length, rows });
        assert.ok(read !== undefined);
        const whole = decodeSegment(bytes, number, bytes.length);
        assert.deepEqual(read.rows, whole.rows);
        assert.equal(read.frames.length, whole.frames.length);
        for (const [index, frame] of read.frames.entries()) {
          const { payload, notes, ...facts } = whole.frames[index] as (typeof whole.frames)[number];
          assert.ok(Buffer.from(frame.payload).equals(payload) && Buffer.from(frame.notes).equals(notes));
          assert.deepEqual({ rows: frame.rows, firstRow: frame.firstRow }, facts);
        }
        const unused = buffers.unusedBytes();
        read.release();
        // The pool is shared by all test files of the process, and may be full.
        const wanted = Math.min(unused + bytes.length, bufferPoolBytesMax - limits.segmentPieceBytes);
        assert.ok(buffers.unusedBytes() >= wanted);
      }),
      { numRuns: 8 },
    );
  });

  it('leaves damaged, truncated or changed files to the decoder of intact rows', async () => {
    await fc.assert(
      fc.asyncProperty(frames, fc.nat(), fc.integer({ min: 1, max: 255 }), async (parts, place, flip) => {
        const { bytes, rows } = segmentOf(parts);
        const at = place % bytes.length;
        const sealed = { number, bytes: bytes.length, rows };
        await write(bytes.subarray(0, at));
        assert.equal(await readIntact(files, sealed), undefined);
        const harmed = Buffer.from(bytes);
        harmed.writeUInt8(bytes.readUInt8(at) ^ flip, at);
        await write(harmed);
        assert.equal(await readIntact(files, sealed), undefined);
        await write(bytes);
        assert.equal(await readIntact(files, { ...sealed, rows: rows + 1 }), undefined);
        assert.equal(
          await readIntact(files, { ...sealed, number: number + 1 }).catch(() => 'absent'),
          'absent',
        );
      }),
      { numRuns: 6 },
    );
  });
});
