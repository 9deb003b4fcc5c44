import { buffers, type Lease } from '../base/bytes/buffer-pool.ts';
import type { LogFiles, LogReader } from './files.ts';
import { limits } from './limits.ts';
import type { SealedSegment } from './sealed-segments.ts';
import {
  decodeFileHeader,
  fileHeaderBytes,
  type Frame,
  frameSeed,
  framesOf,
  scanFrame,
  type ScannedFrame,
  type SegmentContent,
  segmentName,
} from './segment.ts';

type Segment = Pick<SealedSegment, 'number' | 'bytes' | 'rows'>;

/**
 * Reads a sealed segment back in pieces of memory that is used again. A buffer for the whole file would be one more for
 * the collector, which stops everyone once 64 MiB have come together; and each piece is checked in a turn of its own.
 * Undefined for a segment that is not as it was sealed: what is left of it `decodeSegment` finds.
 */
export async function readIntact(
  files: Pick<LogFiles, 'openReader'>,
  segment: Segment,
): Promise<SegmentContent | undefined> {
  const file = await files.openReader(segmentName(segment.number));
  const reading = new Reading(file, segment);
  try {
    if (await reading.run()) return reading.content();
  } catch (error) {
    reading.release();
    throw error;
  } finally {
    await file.close();
  }
  reading.release();
  return undefined;
}

class Reading {
  readonly #file: LogReader;
  readonly #segment: Segment;
  readonly #held: Lease<ArrayBuffer>[] = [];
  readonly #frames: Frame[] = [];
  readonly #seed: number;

  constructor(file: LogReader, segment: Segment) {
    this.#file = file;
    this.#segment = segment;
    this.#seed = frameSeed(segment.number);
  }

  /** False when anything is not as it was sealed. */
  async run(): Promise<boolean> {
    const { bytes } = this.#segment;
    let at = await this.#readHeader();
    let wanted: number = limits.segmentPieceBytes;
    while (at > 0 && at < bytes) {
      const piece = await this.#readPiece(at, wanted);
      if (piece === undefined) return false;
      const taken = this.#take(piece);
      at += taken;
      if (taken > 0) wanted = limits.segmentPieceBytes;
      // A frame that is larger than the piece, or a broken one.
      else if (piece.length < bytes - at) wanted = piece.length * 2;
      else return false;
    }
    return at === bytes && this.#rows() === this.#segment.rows;
  }

  content(): SegmentContent {
    const release = (): void => this.release();
    return { frames: this.#frames, rows: this.#rows(), damage: [], release };
  }

  release(): void {
    for (const lease of this.#held.splice(0)) lease.release();
  }

  #rows(): number {
    return this.#frames.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Where the first frame begins; 0 after a broken header. */
  async #readHeader(): Promise<number> {
    const { number } = this.#segment;
    const bytes = Buffer.alloc(fileHeaderBytes);
    await this.#file.read(bytes, 0);
    return decodeFileHeader(bytes, segmentName(number)) === undefined ? 0 : fileHeaderBytes;
  }

  /** Undefined where the file ends too early. */
  async #readPiece(at: number, wanted: number): Promise<Buffer | undefined> {
    const left = this.#segment.bytes - at;
    const lease = buffers.take(Math.min(wanted, left));
    this.#held.push(lease);
    const { memory } = lease;
    const piece = Buffer.from(memory, 0, Math.min(memory.byteLength, left));
    return (await this.#file.read(piece, at)) === piece.length ? piece : undefined;
  }

  /** Takes the whole frames that a piece begins with; returns how many bytes these are. */
  #take(piece: Buffer): number {
    const found: ScannedFrame[] = [];
    let end = 0;
    for (;;) {
      const frame = scanFrame(piece, end, this.#seed);
      if (frame === undefined) break;
      found.push(frame);
      end = frame.end;
    }
    for (const frame of framesOf(piece, found)) this.#frames.push(frame);
    if (end === 0) this.#held.pop()?.release();
    return end;
  }
}
