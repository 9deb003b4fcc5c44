/**
 * A manifest names the segments that are needed, so that a damaged or missing one is noticed. Little-endian:
 *
 *     u64 version | u32 entries | u32 0 | entry …
 *     entry  u64 segment number | u64 bytes | u32 rows | u32 checksum | u32 open | u32 0
 *
 * It is a frame of the open segment; the highest version in any file counts. It has the length, rows and
 * checksum of every sealed segment that is not in the engine, and the durable part of a segment that was
 * still open (`open` 1). Two rules keep it true over a crash:
 *
 * - A file is removed only after a manifest without it is durable, in a newer segment.
 * - A segment that no manifest names was open, is in the engine, or is a large request without
 *   acknowledgement. Its end may be torn, and it is sent with doubt.
 */
export interface ManifestEntry {
  readonly number: number;
  readonly bytes: number;
  readonly rows: number;
  readonly checksum: number;
  readonly isOpen: boolean;
}

export interface Manifest {
  readonly version: number;
  readonly entries: readonly ManifestEntry[];
}

const headerBytes = 16;
const entryBytes = 32;

function manifestBytes(entries: number): number {
  return headerBytes + entries * entryBytes;
}

export function encodeManifest({ version, entries }: Manifest): Buffer {
  const bytes = Buffer.alloc(manifestBytes(entries.length));
  bytes.writeBigUInt64LE(BigInt(version), 0);
  bytes.writeUInt32LE(entries.length, 8);
  for (const [index, entry] of entries.entries()) {
    const at = headerBytes + index * entryBytes;
    bytes.writeBigUInt64LE(BigInt(entry.number), at);
    bytes.writeBigUInt64LE(BigInt(entry.bytes), at + 8);
    bytes.writeUInt32LE(entry.rows, at + 16);
    bytes.writeUInt32LE(entry.checksum, at + 20);
    bytes.writeUInt32LE(entry.isOpen ? 1 : 0, at + 24);
  }
  return bytes;
}

export function decodeManifest(bytes: Buffer): Manifest | undefined {
  if (bytes.length < headerBytes) return undefined;
  const count = bytes.readUInt32LE(8);
  if (bytes.length !== manifestBytes(count)) return undefined;
  const entries = Array.from({ length: count }, (_, index) => {
    const at = headerBytes + index * entryBytes;
    return {
      number: Number(bytes.readBigUInt64LE(at)),
      bytes: Number(bytes.readBigUInt64LE(at + 8)),
      rows: bytes.readUInt32LE(at + 16),
      checksum: bytes.readUInt32LE(at + 20),
      isOpen: bytes.readUInt32LE(at + 24) === 1,
    };
  });
  return { version: Number(bytes.readBigUInt64LE(0)), entries };
}
