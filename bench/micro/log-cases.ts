import { crc32c } from '@node-rs/crc32';
import { createLogger } from '../../src/base/observability/log.ts';
import type { LogFile, LogFiles, SyncedFile } from '../../src/ingest/files.ts';
import {
  decodeSegment,
  encodeFileHeader,
  encodeFrame,
  type FrameInput,
  frameSeed,
} from '../../src/ingest/segment.ts';
import { Wal } from '../../src/ingest/wal.ts';
import type { MicroCase } from './measure.ts';

/** The write-ahead log's own cost, without a disk. */

const frames = 64;
/** About one event; all fit into the processor's cache, so that memory does not affect the figures. */
const frameBytes = 1024;

function frameInputs(): FrameInput[] {
  return Array.from({ length: frames }, (_, index) => {
    const payload = Buffer.alloc(frameBytes, index + 1);
    return { rows: 1, payload, payloadCrc: crc32c(payload), notes: '' };
  });
}

function framing(): MicroCase {
  const inputs = frameInputs();
  const segment = 42;
  const seed = frameSeed(segment);
  const file = Buffer.alloc(frames * (frameBytes + 256));
  const encode = (): number => {
    let at = encodeFileHeader(segment).copy(file);
    for (const [row, input] of inputs.entries()) {
      const { parts } = encodeFrame(input, { seed, firstRow: row, durableBytes: at });
      for (const part of parts) {
        file.set(part, at);
        at += part.length;
      }
    }
    return at;
  };
  return {
    title: 'frames of 1 KB written and read back',
    unit: 'frames',
    units: frames,
    run: () => {
      const end = encode();
      if (decodeSegment(file, segment, end).rows !== frames) throw new Error('frames are lost');
    },
    reference: {
      name: 'a copy and a CRC-32C of the same bytes',
      run: () => {
        let sum = 0;
        let at = 0;
        for (const { payload } of inputs) {
          file.set(payload, at);
          sum += crc32c(file.subarray(at, at + payload.length));
          at += payload.length;
        }
        return sum;
      },
    },
  };
}

/** A file that only counts written bytes; every call yields like a real one. */
function memoryFile(target: Buffer): LogFile {
  let length = 0;
  return {
    async append(parts) {
      for (const part of parts) {
        if (length + part.length > target.length) length = 0;
        target.set(part, length);
        length += part.length;
      }
    },
    truncate: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

const noFile: SyncedFile = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

function memoryFiles(): LogFiles {
  const target = Buffer.alloc(256 * 1024);
  return {
    list: () => Promise.resolve([]),
    read: () => Promise.resolve(target),
    openReader: () => Promise.reject(new Error('nothing is read back')),
    create: () => Promise.resolve(memoryFile(target)),
    open: () => Promise.resolve(memoryFile(target)),
    remove: () => Promise.resolve(),
    rename: () => Promise.resolve(),
    syncDirectory: () => Promise.resolve(),
    freeBytes: () => Promise.resolve(Number.MAX_SAFE_INTEGER),
    head: noFile,
    order: noFile,
  };
}

async function appending(): Promise<MicroCase> {
  const inputs = frameInputs();
  const wal = await Wal.open({
    files: memoryFiles(),
    log: createLogger('silent'),
    segmentBytes: 64 * 1024 ** 2,
    bytesMax: 2 ** 50,
    nowMs: Date.now,
    damage: { report: () => true },
  });
  const plain = memoryFile(Buffer.alloc(256 * 1024));
  const release = async (): Promise<void> => {
    for (const segment of wal.sealed()) await wal.release(segment);
  };
  return {
    title: 'appends of 1 KB to the log, on a disk that costs nothing',
    unit: 'appends',
    units: frames,
    run: async () => {
      await Promise.all(inputs.map((input) => wal.append([input])));
      if (wal.sealed().length > 0) await release();
    },
    reference: {
      name: 'the same bytes appended to the same file one by one, each with a CRC-32C',
      run: async () => {
        let sum = 0;
        await Promise.all(
          inputs.map(async ({ payload }) => {
            sum += crc32c(payload);
            await plain.append([payload]);
          }),
        );
        return sum;
      },
    },
  };
}

export const logCases = { 'micro.frame': framing, 'micro.log': appending };
