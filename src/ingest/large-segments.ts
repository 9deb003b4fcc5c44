import { Mutex } from '../base/waiting/keyed-mutex.ts';
import type { SealedSegments } from './sealed-segments.ts';
import type { SegmentFiles } from './segment-files.ts';
import {
  encodeFileHeader,
  encodeRequests,
  factsWith,
  fileHeaderBytes,
  type FrameInput,
  frameSeed,
} from './segment.ts';

/** A large append is written in slices, with other writes between them (figures: bench/notes.md). */
const walSliceBytesMax = 1024 * 1024;

export interface LargeAppend {
  readonly frames: readonly FrameInput[];
  readonly bytes: number;
  readonly organization: string | undefined;
}

export interface SegmentDeps {
  readonly files: SegmentFiles;
  readonly sealed: SealedSegments;
  readonly nextNumber: () => number;
}

export class LargeSegments {
  readonly #deps: SegmentDeps;
  readonly #turns = new Mutex();
  #waitingBytes = 0;
  #newest = 0;

  constructor(deps: SegmentDeps) {
    this.#deps = deps;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get newest(): number {
    return this.#newest;
  }

  async inTurn(append: LargeAppend, work: () => Promise<number>): Promise<number> {
    this.#waitingBytes += append.bytes;
    try {
      return await this.#turns.run(work);
    } finally {
      this.#waitingBytes -= append.bytes;
    }
  }

  idle(): Promise<void> {
    return this.#turns.run(() => Promise.resolve());
  }

  async write({ frames, organization }: LargeAppend): Promise<number> {
    const sinceMs = performance.now();
    const { files, sealed, nextNumber } = this.#deps;
    const number = nextNumber();
    const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
    const encoded = encodeRequests([{ frames }], position);
    const parts = [encodeFileHeader(number), ...encoded.flatMap((frame) => frame.parts)];
    const slices = slicesOf(parts, walSliceBytesMax);
    await files.close(await files.create(number, sealed.version, slices));
    const facts = factsWith({ bytes: fileHeaderBytes, rows: 0, checksum: 0 }, encoded);
    this.#newest = number;
    sealed.add({ number, facts, sinceMs }, { isLarge: true, organization });
    return number;
  }
}

function* slicesOf(parts: readonly Uint8Array[], bytesMax: number): Generator<readonly Uint8Array[]> {
  let slice: Uint8Array[] = [];
  let room = bytesMax;
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      const piece = part.subarray(from, from + room);
      slice.push(piece);
      from += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield slice;
      slice = [];
      room = bytesMax;
    }
  }
  if (slice.length > 0) yield slice;
}
