import { crc32c } from '@node-rs/crc32';
import type { Manifest } from './manifest.ts';
import { segmentNumberMax } from '../base/events/sequence.ts';
import { projectFile } from '../base/files/project-file.ts';

const frameBytesMax = 256 * 1024 * 1024;

/**
 * A segment: one file of the write-ahead log, later the body of one INSERT. Little-endian.
 *
 *     file   header(32) frame frame …
 *     header "AUDITWAL" | u32 version | u32 0 | u64 segment number | u32 0 | u32 CRC-32C of the 28 bytes before
 *     frame  header(48) notes payload
 *     header "FRAM" | u32 notes bytes | u32 payload bytes | u32 rows | u32 first row | u32 following | u64 durable bytes
 *            | u32 CRC of notes | u32 CRC of payload | u32 kind | u32 CRC-32C of the 44 bytes before
 *
 * Kind 0: `payload` is a Native block without its `seq` values, `notes` JSON of remembered answers. Kind 1: a
 * manifest (manifest.ts), without rows. `durable bytes`, the synced length of the file when the frame was
 * written, distinguishes a torn tail from damage to acknowledged events. `following` counts later frames of the same
 * request, which is in the log whole or not at all. The last CRC is seeded by the segment's number, so a
 * frame belongs to one segment only.
 */
export const formatVersion = 1;
export const fileHeaderBytes = 32;
export const frameHeaderBytes = 48;
const fileMagic = Buffer.from('AUDITWAL', 'latin1');
const frameMagic = Buffer.from('FRAM', 'latin1');
const rowsKind = 0;
const manifestKind = 1;

export interface Frame {
  readonly rows: number;
  readonly firstRow: number;
  readonly notes: Uint8Array;
  readonly payload: Uint8Array;
}

export interface FrameInput {
  readonly rows: number;
  readonly payload: Uint8Array;
  /** CRC-32C of the payload, computed by the encoder, so that a fault in between is noticed. */
  readonly payloadCrc: number;
  readonly notes: string;
}

export type MappedFrame = Omit<FrameInput, 'notes'>;

export interface Range {
  readonly from: number;
  readonly to: number;
}

export function rangesText(ranges: readonly Range[]): string {
  return ranges.map(({ from, to }) => `bytes ${from} to ${to}`).join(', ');
}

export interface SegmentContent {
  readonly frames: readonly Frame[];
  readonly rows: number;
  /** Damaged or missing ranges of acknowledged bytes. */
  readonly damage: readonly Range[];
  release(): void;
}

export const unfinishedEnding = '.new';

export function segmentName(segment: number): string {
  return `${String(segment).padStart(16, '0')}.wal`;
}

/** Undefined for other names, and for numbers that no segment can have. */
export function segmentOfName(name: string): number | undefined {
  if (!/^\d{16}\.wal$/.test(name)) return undefined;
  const number = Number(name.slice(0, 16));
  return number <= segmentNumberMax ? number : undefined;
}

export const evidenceKinds = ['refused', 'damaged', 'missing'] as const;

export function evidenceName(segment: number, kind: (typeof evidenceKinds)[number]): string {
  return segmentName(segment).replace(/wal$/, kind);
}

export function encodeFileHeader(segment: number): Buffer {
  const header = Buffer.alloc(fileHeaderBytes);
  fileMagic.copy(header);
  header.writeUInt32LE(formatVersion, 8);
  header.writeBigUInt64LE(BigInt(segment), 16);
  header.writeUInt32LE(crc32c(header.subarray(0, 28)), 28);
  return header;
}

export function frameSeed(segment: number): number {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(segment));
  return crc32c(number);
}

export interface FramePosition {
  readonly seed: number;
  readonly firstRow: number;
  readonly durableBytes: number;
}

/** A frame in parts, in file order, and the CRC of its header. */
export interface EncodedFrame {
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
  readonly rows: number;
  readonly sum: number;
}

export function encodeFrame(
  input: FrameInput,
  { seed, firstRow, durableBytes }: FramePosition,
  following = 0,
  kind = rowsKind,
): EncodedFrame {
  const notes = Buffer.from(input.notes, 'utf8');
  const header = Buffer.alloc(frameHeaderBytes);
  frameMagic.copy(header);
  header.writeUInt32LE(notes.length, 4);
  header.writeUInt32LE(input.payload.length, 8);
  header.writeUInt32LE(input.rows, 12);
  header.writeUInt32LE(firstRow, 16);
  header.writeUInt32LE(following, 20);
  header.writeBigUInt64LE(BigInt(durableBytes), 24);
  header.writeUInt32LE(crc32c(notes), 32);
  header.writeUInt32LE(input.payloadCrc, 36);
  header.writeUInt32LE(kind, 40);
  const sum = crc32c(header.subarray(0, 44), seed);
  header.writeUInt32LE(sum, 44);
  const parts = notes.length === 0 ? [header, input.payload] : [header, notes, input.payload];
  const bytes = frameHeaderBytes + notes.length + input.payload.length;
  return { parts, bytes, rows: input.rows, sum };
}

export function encodeRequests(
  requests: readonly { readonly frames: readonly FrameInput[] }[],
  { seed, firstRow: begin, durableBytes }: FramePosition,
): EncodedFrame[] {
  const encoded: EncodedFrame[] = [];
  let firstRow = begin;
  for (const { frames } of requests) {
    for (const [index, frame] of frames.entries()) {
      encoded.push(encodeFrame(frame, { seed, firstRow, durableBytes }, frames.length - 1 - index));
      firstRow += frame.rows;
    }
  }
  return encoded;
}

export function encodeManifestFrame(manifest: Manifest, position: FramePosition): EncodedFrame {
  const payload = Buffer.from(JSON.stringify(manifest));
  const input = { rows: 0, payload, payloadCrc: crc32c(payload), notes: '' };
  return encodeFrame(input, position, 0, manifestKind);
}

export function factsWith(before: SegmentFacts, frames: readonly EncodedFrame[]): SegmentFacts {
  let { bytes, rows, checksum } = before;
  for (const frame of frames) {
    bytes += frame.bytes;
    rows += frame.rows;
    checksum = chainSum(checksum, frame.sum);
  }
  return { bytes, rows, checksum };
}

/** The checksum of a segment: over the CRCs of its frames' headers, which cover the frames. */
function chainSum(checksum: number, sum: number): number {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(sum);
  return crc32c(bytes, checksum);
}

export interface ScannedFrame {
  readonly at: number;
  readonly payloadAt: number;
  readonly end: number;
  readonly kind: number;
  readonly rows: number;
  readonly firstRow: number;
  readonly following: number;
  readonly durableBytes: number;
  readonly sum: number;
}

export interface Scan {
  readonly header: FileHeader | undefined;
  readonly bytes: number;
  readonly frames: readonly ScannedFrame[];
  readonly gaps: readonly Range[];
  readonly manifest: Manifest | undefined;
}

interface FileHeader {
  readonly segment: number;
}

/** Undefined for a broken header. Throws for an intact one of another format version. */
export function decodeFileHeader(file: Buffer, name: string): FileHeader | undefined {
  if (file.length < fileHeaderBytes || !file.subarray(0, 8).equals(fileMagic)) return undefined;
  if (crc32c(file.subarray(0, 28)) !== file.readUInt32LE(28)) return undefined;
  const version = file.readUInt32LE(8);
  if (version !== formatVersion)
    throw new Error(
      `The write-ahead log is from another release: ${name} has format ${version}, this release reads format ${formatVersion}; see ${projectFile('docs/install.md')}`,
    );
  return { segment: Number(file.readBigUInt64LE(16)) };
}

export function scanFrame(file: Buffer, at: number, seed: number): ScannedFrame | undefined {
  if (at + frameHeaderBytes > file.length || !file.subarray(at, at + 4).equals(frameMagic)) return undefined;
  const sum = file.readUInt32LE(at + 44);
  if (crc32c(file.subarray(at, at + 44), seed) !== sum) return undefined;
  const notesBytes = file.readUInt32LE(at + 4);
  const payloadBytes = file.readUInt32LE(at + 8);
  const notesAt = at + frameHeaderBytes;
  const payloadAt = notesAt + notesBytes;
  const end = payloadAt + payloadBytes;
  if (notesBytes + payloadBytes > frameBytesMax || end > file.length) return undefined;
  if (crc32c(file.subarray(notesAt, payloadAt)) !== file.readUInt32LE(at + 32)) return undefined;
  if (crc32c(file.subarray(payloadAt, end)) !== file.readUInt32LE(at + 36)) return undefined;
  return {
    at,
    payloadAt,
    end,
    kind: file.readUInt32LE(at + 40),
    rows: file.readUInt32LE(at + 12),
    firstRow: file.readUInt32LE(at + 16),
    following: file.readUInt32LE(at + 20),
    durableBytes: Number(file.readBigUInt64LE(at + 24)),
    sum,
  };
}

/** The next intact frame behind damage. */
function nextFrame(file: Buffer, from: number, seed: number): ScannedFrame | undefined {
  for (let at = file.indexOf(frameMagic, from); at !== -1; at = file.indexOf(frameMagic, at + 1)) {
    const frame = scanFrame(file, at, seed);
    if (frame !== undefined) return frame;
  }
  return undefined;
}

/** Finds every intact frame, also behind damage. */
export function scanSegment(file: Buffer, segment: number): Scan {
  const header = decodeFileHeader(file, segmentName(segment));
  const seed = frameSeed(segment);
  const frames: ScannedFrame[] = [];
  const gaps: Range[] = [];
  let manifest: Manifest | undefined;
  let at = header === undefined ? 0 : fileHeaderBytes;
  while (at < file.length) {
    const frame = scanFrame(file, at, seed) ?? nextFrame(file, at + 1, seed);
    const from = frame?.at ?? file.length;
    if (from > at) gaps.push({ from: at, to: from });
    if (frame?.kind === manifestKind) {
      manifest = JSON.parse(file.toString('utf8', frame.payloadAt, frame.end)) as Manifest;
    }
    if (frame !== undefined) frames.push(frame);
    at = frame?.end ?? file.length;
  }
  return { header, bytes: file.length, frames, gaps, manifest };
}

/** Exact for a sealed segment, a lower bound for an open one. */
export interface SegmentFacts {
  readonly bytes: number;
  readonly rows: number;
  readonly checksum: number;
}

/** The part of a segment that counts: intact frames, without a write that a crash cut short. */
export interface Assessment extends SegmentFacts {
  readonly frames: readonly ScannedFrame[];
  readonly damage: readonly Range[];
  /** Bytes of an unacknowledged write that a crash cut short. */
  readonly tornBytes: number;
}

/**
 * Assesses a file. `durable`: bytes known to be acknowledged; frames may raise it. `sealed`: facts of a
 * sealed segment, whose file may be longer.
 */
export function assess(scan: Scan, durable: number, sealed?: SegmentFacts): Assessment {
  const end = sealed?.bytes ?? Math.max(scan.bytes, durable);
  const inside = scan.frames.filter((frame) => frame.end <= end);
  const known = inside.reduce((most, frame) => Math.max(most, frame.durableBytes), sealed?.bytes ?? durable);
  const gaps = scan.gaps
    .filter(({ from }) => from < end)
    .map(({ from, to }) => ({ from, to: Math.min(to, end) }));
  if (scan.bytes < end) gaps.push({ from: scan.bytes, to: end });
  const tornGap = gaps.find(({ from }) => from >= known)?.from ?? end;
  const before = inside.filter((frame) => frame.end <= tornGap);
  const tornFrom = unfinishedRequest(before, known) ?? tornGap;
  const frames = before.filter((frame) => frame.end <= tornFrom);
  const rows = frames.reduce((sum, frame) => sum + frame.rows, 0);
  const checksum = frames.reduce((sum, frame) => chainSum(sum, frame.sum), 0);
  const damage = gaps.filter(({ from }) => from < known);
  // Every frame is intact, but not as sealed.
  const isOther = sealed !== undefined && (rows !== sealed.rows || checksum !== sealed.checksum);
  if (damage.length === 0 && isOther) damage.push({ from: 0, to: end });
  return { frames, rows, checksum, damage, bytes: tornFrom, tornBytes: end - tornFrom };
}

function unfinishedRequest(frames: readonly ScannedFrame[], durable: number): number | undefined {
  let from: number | undefined;
  for (const { at, following, kind } of frames) {
    if (kind !== rowsKind) continue;
    if (following > 0) from ??= at;
    else from = undefined;
  }
  return from !== undefined && from >= durable ? from : undefined;
}

/** Reads the intact frames in the first `bytes` of a sealed segment. */
export function decodeSegment(file: Buffer, segment: number, bytes: number): SegmentContent {
  const whole = file.subarray(0, bytes);
  const { frames, rows, damage } = assess(scanSegment(whole, segment), bytes);
  return { frames: framesOf(whole, frames), rows, damage, release: () => undefined };
}

export function framesOf(bytes: Buffer, found: readonly ScannedFrame[]): Frame[] {
  return found
    .filter(({ kind }) => kind === rowsKind)
    .map(({ at, payloadAt, end, rows, firstRow }) => ({
      rows,
      firstRow,
      notes: bytes.subarray(at + frameHeaderBytes, payloadAt),
      payload: bytes.subarray(payloadAt, end),
    }));
}
