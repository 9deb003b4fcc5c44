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
 * Reads a sealed segment in pooled pieces: a buffer per file would make the collector stop the process every
 * 64 MiB. Undefined if the segment differs from how it was sealed; `decodeSegment` then finds the intact
 * rest.
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
  readonly #leases: Lease<ArrayBuffer>[] = [];
  readonly #frames: Frame[] = [];
  readonly #seed: number;

  constructor(file: LogReader, segment: Segment) {
    this.#file = file;
    this.#segment = segment;
    this.#seed = frameSeed(segment.number);
  }

  async run(): Promise<boolean> {
    const { bytes } = this.#segment;
    let at = await this.#readHeader();
    let wanted: number = limits.segmentPieceBytes;
    while (at > 0 && at < bytes) {
      const piece = await this.#readPiece(at, wanted);
      if (piece === undefined) return false;
      const parsed = this.#parse(piece);
      at += parsed;
      if (parsed > 0) wanted = limits.segmentPieceBytes;
      // A frame larger than the piece, or a broken one.
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
    for (const lease of this.#leases.splice(0)) lease.release();
  }

  #rows(): number {
    return this.#frames.reduce((sum, { rows }) => sum + rows, 0);
  }

  async #readHeader(): Promise<number> {
    const { number } = this.#segment;
    const bytes = Buffer.alloc(fileHeaderBytes);
    await this.#file.read(bytes, 0);
    return decodeFileHeader(bytes, segmentName(number)) === undefined ? 0 : fileHeaderBytes;
  }

  async #readPiece(at: number, wanted: number): Promise<Buffer | undefined> {
    const left = this.#segment.bytes - at;
    const lease = buffers.take(Math.min(wanted, left));
    this.#leases.push(lease);
    const { memory } = lease;
    const piece = Buffer.from(memory, 0, Math.min(memory.byteLength, left));
    return (await this.#file.read(piece, at)) === piece.length ? piece : undefined;
  }

  /** Parses the whole frames at the beginning of a piece; returns their bytes. */
  #parse(piece: Buffer): number {
    const found: ScannedFrame[] = [];
    let end = 0;
    for (;;) {
      const frame = scanFrame(piece, end, this.#seed);
      if (frame === undefined) break;
      found.push(frame);
      end = frame.end;
    }
    for (const frame of framesOf(piece, found)) this.#frames.push(frame);
    if (end === 0) this.#leases.pop()?.release();
    return end;
  }
}
