import { Decompress, decompress } from 'fzstd';
import xxhash from 'xxhash-wasm';

/** What a client sent is not zstd, or is cut short, or fails its checksum. */
class ZstdFormatError extends Error {}

/** What is inside is larger than allowed. */
export class ZstdSizeError extends Error {}

interface ZstdFrame {
  readonly bytes: Uint8Array;
  readonly contentBytes: number | undefined;
  readonly windowBytes: number;
  /** XXH64 of the content, its low 32 bits; undefined when the frame carries none. */
  readonly checksum: number | undefined;
}

const magic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
/** RFC 8878 recommends that decoders accept windows of this size; a larger one is refused as too large. */
const windowBytesMax = 8 * 1024 * 1024;
const { h64Raw } = await xxhash();

/**
 * Content of one or more zstd frames (RFC 8878), at most `bytesMax` long. The frames are walked before anything is
 * decoded, so that no header can ask for memory; checksums are verified here because the decoder does not.
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
    if (frame.checksum !== undefined && Number(h64Raw(part) & 0xffffffffn) !== frame.checksum) {
      throw new ZstdFormatError('zstd checksum does not match');
    }
    parts.push(part);
    total += part.length;
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, total);
}

function content(frame: ZstdFrame, bytesMax: number): Uint8Array {
  try {
    if (frame.contentBytes !== undefined) {
      const part = decompress(frame.bytes, new Uint8Array(frame.contentBytes));
      if (part.length !== frame.contentBytes) throw new ZstdFormatError('zstd content has another length');
      return part;
    }
    const parts: Uint8Array[] = [];
    let total = 0;
    new Decompress((part) => {
      total += part.length;
      if (total > bytesMax) throw new ZstdSizeError('zstd content is too large');
      parts.push(part);
    }).push(frame.bytes, true);
    return Buffer.concat(parts, total);
  } catch (error) {
    if (error instanceof ZstdSizeError) throw error;
    throw new ZstdFormatError('zstd data is malformed', { cause: error });
  }
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
  at = blocksEnd(view, at + sizeBytes);
  const hasChecksum = (flags & 4) !== 0;
  if (hasChecksum) need(view, at, 4);
  const end = at + (hasChecksum ? 4 : 0);
  const checksum = hasChecksum ? view.getUint32(at, true) : undefined;
  return { frame: { bytes: body.subarray(start, end), contentBytes, windowBytes, checksum }, end };
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

function blocksEnd(view: DataView, start: number): number {
  let at = start;
  for (;;) {
    need(view, at, 3);
    const head = view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
    const runLength = ((head >> 1) & 3) === 1;
    at += 3 + (runLength ? 1 : head >> 3);
    if ((head & 1) === 1) break;
  }
  need(view, at, 0);
  return at;
}

function need(view: DataView, at: number, bytes: number): void {
  if (at + bytes > view.byteLength) throw new ZstdFormatError('zstd data is cut short');
}
