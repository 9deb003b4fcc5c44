import { crc32c } from '@node-rs/crc32';
import { limits } from '../base/limits.ts';

/**
 * A segment: one file of the write-ahead log, later the body of one INSERT. Little-endian.
 *
 *     file   header(32) frame frame …
 *     header "AUDITWAL" | u32 version | u32 0 | u64 segment number | u32 0 | u32 CRC-32C of the 28 bytes before
 *     frame  header(48) notes payload
 *     header "FRAM" | u32 notes bytes | u32 payload bytes | u32 rows | u32 first row | u32 following | u64 durable bytes
 *            | u32 CRC of notes | u32 CRC of payload | u32 0 | u32 CRC-32C of the 44 bytes before
 *
 * `payload` is a Native block without its `seq` values; `notes` is JSON that must be as durable as the events (the
 * answers to idempotent requests). `durable bytes` says how much of the file was synced when the frame was written:
 * it tells, after a crash, a torn tail (never acknowledged) from damage to what had been acknowledged.
 * `following` counts the frames of the same request that come after: a request is in the log whole or not at all.
 */
const formatVersion = 1;
export const fileHeaderBytes = 32;
export const frameHeaderBytes = 48;
const fileMagic = Buffer.from('AUDITWAL', 'latin1');
const frameMagic = Buffer.from('FRAM', 'latin1');

export interface Frame {
  readonly rows: number;
  readonly firstRow: number;
  readonly notes: Uint8Array;
  readonly payload: Uint8Array;
}

export interface FrameInput {
  readonly rows: number;
  readonly payload: Uint8Array;
  /** CRC-32C of the payload, computed where it was encoded so that a fault on the way here is seen too. */
  readonly payloadCrc: number;
  /** Text of a JSON value, or empty. */
  readonly notes: string;
}

export interface Damage {
  readonly from: number;
  readonly to: number;
  /** True when the bytes had been acknowledged as durable; false for a write that a crash cut short. */
  readonly acknowledged: boolean;
}

export interface SegmentContent {
  readonly frames: readonly Frame[];
  readonly rows: number;
  readonly damage: readonly Damage[];
  /** Bytes up to which the file is intact. */
  readonly intactBytes: number;
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(16, '0')}.wal`;
}

/** The number in a segment's file name; undefined for any other file. */
export function segmentOfName(name: string): number | undefined {
  return /^\d{16}\.wal$/.test(name) ? Number(name.slice(0, 16)) : undefined;
}

export function encodeFileHeader(segment: number): Buffer {
  const header = Buffer.alloc(fileHeaderBytes);
  fileMagic.copy(header);
  header.writeUInt32LE(formatVersion, 8);
  header.writeBigUInt64LE(BigInt(segment), 16);
  header.writeUInt32LE(crc32c(header.subarray(0, 28)), 28);
  return header;
}

export interface FramePlace {
  readonly firstRow: number;
  /** Frames of the same request that come after this one. */
  readonly following: number;
  /** How much of the file is synced at this moment. */
  readonly durableBytes: number;
}

/** The frame's parts in file order. */
export function encodeFrame(input: FrameInput, place: FramePlace): Uint8Array[] {
  const notes = Buffer.from(input.notes, 'utf8');
  const header = Buffer.alloc(frameHeaderBytes);
  frameMagic.copy(header);
  header.writeUInt32LE(notes.length, 4);
  header.writeUInt32LE(input.payload.length, 8);
  header.writeUInt32LE(input.rows, 12);
  header.writeUInt32LE(place.firstRow, 16);
  header.writeUInt32LE(place.following, 20);
  header.writeBigUInt64LE(BigInt(place.durableBytes), 24);
  header.writeUInt32LE(crc32c(notes), 32);
  header.writeUInt32LE(input.payloadCrc, 36);
  header.writeUInt32LE(crc32c(header.subarray(0, 44)), 44);
  return notes.length === 0 ? [header, input.payload] : [header, notes, input.payload];
}

interface ParsedFrame {
  readonly frame: Frame;
  readonly end: number;
  readonly following: number;
  readonly durableBytes: number;
}

function parseFrame(file: Buffer, at: number): ParsedFrame | undefined {
  if (at + frameHeaderBytes > file.length || !file.subarray(at, at + 4).equals(frameMagic)) return undefined;
  if (crc32c(file.subarray(at, at + 44)) !== file.readUInt32LE(at + 44)) return undefined;
  const notesBytes = file.readUInt32LE(at + 4);
  const payloadBytes = file.readUInt32LE(at + 8);
  const notesAt = at + frameHeaderBytes;
  const payloadAt = notesAt + notesBytes;
  const end = payloadAt + payloadBytes;
  if (notesBytes + payloadBytes > limits.frameBytesMax || end > file.length) return undefined;
  const notes = file.subarray(notesAt, payloadAt);
  const payload = file.subarray(payloadAt, end);
  if (crc32c(notes) !== file.readUInt32LE(at + 32)) return undefined;
  if (crc32c(payload) !== file.readUInt32LE(at + 36)) return undefined;
  const durableBytes = Number(file.readBigUInt64LE(at + 24));
  const rows = file.readUInt32LE(at + 12);
  const firstRow = file.readUInt32LE(at + 16);
  const following = file.readUInt32LE(at + 20);
  return { frame: { rows, firstRow, notes, payload }, end, following, durableBytes };
}

/** Offset of the next whole frame after a damaged place, or the end of the file. */
function nextFrame(file: Buffer, from: number): number {
  let at = file.indexOf(frameMagic, from);
  while (at !== -1) {
    if (parseFrame(file, at)) return at;
    at = file.indexOf(frameMagic, at + 1);
  }
  return file.length;
}

/**
 * Reads a segment file, checking every sum. Frames after a damaged place are kept; the place is reported.
 * A broken file header is damage like any other; an intact one of another format version throws, since nothing
 * may be guessed about what a newer release wrote.
 */
export function decodeSegment(file: Buffer, segment: number): SegmentContent {
  const frames: Frame[] = [];
  const gaps: { from: number; to: number }[] = [];
  let durable = 0;
  let at = fileHeaderBytes;
  let request = { frames: 0, from: at, following: 0 };
  if (!headerIsValid(file, segment)) {
    at = nextFrame(file, 0);
    if (file.length > 0) gaps.push({ from: 0, to: at });
  }
  while (at < file.length) {
    const parsed = parseFrame(file, at);
    if (parsed) {
      if (request.following === 0) request = { frames: frames.length, from: at, following: 0 };
      request.following = parsed.following;
      frames.push(parsed.frame);
      durable = Math.max(durable, parsed.durableBytes);
      at = parsed.end;
    } else {
      const next = nextFrame(file, at + 1);
      gaps.push({ from: at, to: next });
      at = next;
    }
  }
  if (request.following > 0) {
    frames.length = request.frames;
    gaps.push({ from: request.from, to: file.length });
    gaps.sort((a, b) => a.from - b.from);
  }
  const rows = frames.reduce((sum, frame) => sum + frame.rows, 0);
  const damage = gaps.map((gap) => ({ ...gap, acknowledged: gap.from < durable }));
  return { frames, rows, damage, intactBytes: gaps[0]?.from ?? file.length };
}

function headerIsValid(file: Buffer, segment: number): boolean {
  if (file.length < fileHeaderBytes || !file.subarray(0, 8).equals(fileMagic)) return false;
  if (crc32c(file.subarray(0, 28)) !== file.readUInt32LE(28)) return false;
  const version = file.readUInt32LE(8);
  if (version !== formatVersion) {
    throw new Error(
      `${segmentName(segment)} has log format ${version}; this release reads format ${formatVersion}`,
    );
  }
  return Number(file.readBigUInt64LE(16)) === segment;
}
