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

/** A large append is written in slices of this size, with the writes of others between them (figures: bench/notes.md). */
const walSliceBytesMax = 1024 * 1024;

/** A request that gets a segment of its own. */
export interface LargeAppend {
  readonly frames: readonly FrameInput[];
  readonly bytes: number;
  readonly organization: string | undefined;
}

/** What is needed to make segments. */
export interface SegmentDeps {
  readonly files: SegmentFiles;
  readonly sealed: SealedSegments;
  /** Each is above the one before. */
  readonly nextNumber: () => number;
}

/** Writes large requests, one after the other: each becomes a sealed segment beside the open one. */
export class LargeSegments {
  readonly #deps: SegmentDeps;
  readonly #turns = new Mutex();
  #waitingBytes = 0;
  #newest = 0;

  constructor(deps: SegmentDeps) {
    this.#deps = deps;
  }

  /** The bytes of requests that are not done. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Number of the newest segment that is whole; 0 when there is none. */
  get newest(): number {
    return this.#newest;
  }

  /** Does `work` with a request in its turn: it calls `write`, and what else makes the request acknowledged. */
  async inTurn(append: LargeAppend, work: () => Promise<number>): Promise<number> {
    this.#waitingBytes += append.bytes;
    try {
      return await this.#turns.run(work);
    } finally {
      this.#waitingBytes -= append.bytes;
    }
  }

  /** Resolves when all requests so far are done. */
  idle(): Promise<void> {
    return this.#turns.run(() => Promise.resolve());
  }

  /** Writes the segment of a request in slices, and seals it. Resolves with its number. */
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

/** The same bytes in slices of at most so many: what else the disk has to sync goes in between. */
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
