import { ZSTDDecoder } from 'zstddec';

/** What a client sent is not zstd, or is cut short. */
class ZstdFormatError extends Error {}

/** What is inside is larger than allowed. */
export class ZstdSizeError extends Error {}

interface ZstdFrame {
  readonly bytes: Uint8Array;
  /** Undefined where the frame does not say it. */
  readonly contentBytes: number | undefined;
  readonly windowBytes: number;
  readonly blocks: Blocks;
}

interface Blocks {
  /** Where the last one ends. */
  readonly end: number;
  readonly contentBytesMin: number;
  readonly contentBytesMax: number;
}

const magic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
/** RFC 8878 recommends that decoders accept windows of this size; a larger one is refused as too large. */
const windowBytesMax = 8 * 1024 * 1024;
/** What a compressed block can hold. */
const blockContentBytesMax = 128 * 1024;
const runBlock = 1;
const compressedBlock = 2;
const reservedBlock = 3;
const checksumBytes = 4;
/** The reference decoder, compiled: damaged data makes one in JavaScript loop for ever, and it is 20 times slower. */
const decoder = new ZSTDDecoder();
await decoder.init();

/**
 * Content of one or more zstd frames (RFC 8878), at most `bytesMax` long. The frames are walked before anything is
 * decoded, so that no header can ask for memory. Throws ZstdSizeError, or another error for what is not whole frames.
 */
export function decompressZstd(body: Uint8Array, bytesMax: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (const frame of frames(body)) {
    const declared = frame.contentBytes ?? 0;
    if (frame.windowBytes > Math.max(windowBytesMax, bytesMax) || total + declared > bytesMax) {
      throw new ZstdSizeError('zstd content is too large');
    }
    const part = content(frame, bytesMax - total);
    if (part.length > 0) parts.push(part);
    total += part.length;
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, total);
}

function content({ bytes, contentBytes, blocks }: ZstdFrame, bytesMax: number): Uint8Array {
  if (blocks.contentBytesMin > bytesMax) throw new ZstdSizeError('zstd content is too large');
  if (blocks.contentBytesMax === 0 && (contentBytes ?? 0) === 0) return new Uint8Array();
  const room = contentBytes ?? Math.min(blocks.contentBytesMax, bytesMax);
  // Where it fails, for want of room or for any other reason, the decoder gives nothing.
  const part = room === 0 ? new Uint8Array() : decoder.decode(bytes, room);
  if (part.length === 0 && contentBytes === undefined && blocks.contentBytesMax > bytesMax) {
    throw new ZstdSizeError('zstd content may be too large');
  }
  if (part.length === 0 || part.length !== (contentBytes ?? part.length)) {
    throw new ZstdFormatError('zstd data is malformed');
  }
  return part;
}

function* frames(body: Uint8Array): Generator<ZstdFrame> {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let at = 0;
  if (body.length === 0) throw new ZstdFormatError('zstd data is empty');
  while (at < body.length) {
    need(view, at, 8);
    const word = view.getUint32(at, true);
    if ((word & 0xfffffff0) >>> 0 === skippableMagic) {
      const skip = 8 + view.getUint32(at + 4, true);
      need(view, at, skip);
      at += skip;
    } else if (word === magic) {
      const { frame, end } = readFrame(body, view, at);
      yield frame;
      at = end;
    } else {
      throw new ZstdFormatError('zstd frame has no magic number');
    }
  }
}

function readFrame(body: Uint8Array, view: DataView, start: number): { frame: ZstdFrame; end: number } {
  const flags = view.getUint8(start + 4);
  const singleSegment = (flags & 32) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] as number;
  const sizeFlag = flags >> 6;
  const sizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][sizeFlag] as number;
  if ((flags & 8) !== 0) throw new ZstdFormatError('zstd frame uses a reserved bit');
  let at = start + 5;
  need(view, at, (singleSegment ? 0 : 1) + dictionaryBytes + sizeBytes);
  let windowBytes = 0;
  if (!singleSegment) {
    const descriptor = view.getUint8(at++);
    const base = 2 ** (10 + (descriptor >> 3));
    windowBytes = base + (base / 8) * (descriptor & 7);
  }
  if (dictionaryBytes > 0 && view.getUint8(at) !== 0)
    throw new ZstdFormatError('zstd frame needs a dictionary');
  at += dictionaryBytes;
  const contentBytes = contentSize(view, at, sizeBytes);
  if (singleSegment) windowBytes = contentBytes ?? 0;
  const blocks = walkBlocks(view, at + sizeBytes);
  const end = blocks.end + ((flags & 4) === 0 ? 0 : checksumBytes);
  need(view, end, 0);
  return { frame: { bytes: body.subarray(start, end), contentBytes, windowBytes, blocks }, end };
}

function contentSize(view: DataView, at: number, bytes: number): number | undefined {
  switch (bytes) {
    case 0:
      return undefined;
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}

function walkBlocks(view: DataView, start: number): Blocks {
  let at = start;
  let contentBytesMin = 0;
  let contentBytesMax = 0;
  for (;;) {
    need(view, at, 3);
    const head = view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
    const type = (head >> 1) & 3;
    const size = head >> 3;
    if (type === reservedBlock) throw new ZstdFormatError('zstd block is of a reserved type');
    // A compressed block says how long it is, one as it is and one of a single byte how much it holds.
    if (type !== compressedBlock) contentBytesMin += size;
    contentBytesMax += type === compressedBlock ? blockContentBytesMax : size;
    at += 3 + (type === runBlock ? 1 : size);
    if ((head & 1) === 1) break;
  }
  need(view, at, 0);
  return { end: at, contentBytesMin, contentBytesMax };
}

function need(view: DataView, at: number, bytes: number): void {
  if (at + bytes > view.byteLength) throw new ZstdFormatError('zstd data is cut short');
}
