/**
 * A manifest: which segments of the log are needed, so that a damaged or missing one is noticed. Little-endian.
 *
 *     u64 version | u32 entries | u32 0 | entry …
 *     entry  u64 segment number | u64 bytes | u32 rows | u32 checksum | u32 open | u32 0
 *
 * A manifest stands in the open segment, as a frame. The one with the highest version counts, whatever file it is in.
 * It names every sealed segment that has not reached the engine, with its exact length, rows and checksum. Of a
 * segment that was still open when its successor was begun (`open` 1) it says what was durable by then.
 *
 * Two rules make it true at every point of a crash:
 *
 * - A file is removed only after a manifest that does not name it is durable, in a newer segment.
 * - A segment that no manifest names was open, or has reached the engine: its end may be torn, and it is sent with
 *   doubt. Or it is that of a large request, whole and not acknowledged yet.
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

/** Undefined when these bytes are none. */
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
