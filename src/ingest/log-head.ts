import { crc32c } from '@node-rs/crc32';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import type { SyncedFile } from './files.ts';
import type { SegmentFacts } from './segment.ts';

export interface LastOpen extends SegmentFacts {
  readonly number: number;
}

export interface Head {
  readonly newest: number;
  readonly closed: Closed | undefined;
}

interface Closed {
  readonly waiting: number;
  readonly open: LastOpen | undefined;
}

const magic = Buffer.from('AUDTHEAD', 'latin1');
const headBytes = 56;

/**
 * Names the newest segment, in a small file outside the log's folder: without it, nothing could notice that
 * this segment was removed. Little-endian, within one disk sector:
 *
 *     "AUDTHEAD" | u64 newest | u32 closed | u32 waiting | u64 open | u64 bytes | u32 rows | u32 checksum | u32 0
 *                | u32 CRC-32C of the 52 bytes before
 *
 * It is written before a segment takes its first append, and a segment's file is removed only once a newer
 * one is named. So a folder without a file of this number or above has lost some.
 */
export function encodeHead({ newest, closed }: Head): Buffer {
  const bytes = Buffer.alloc(headBytes);
  magic.copy(bytes);
  bytes.writeBigUInt64LE(BigInt(newest), 8);
  bytes.writeUInt32LE(closed === undefined ? 0 : 1, 16);
  bytes.writeUInt32LE(closed?.waiting ?? 0, 20);
  bytes.writeBigUInt64LE(BigInt(closed?.open?.number ?? 0), 24);
  bytes.writeBigUInt64LE(BigInt(closed?.open?.bytes ?? 0), 32);
  bytes.writeUInt32LE(closed?.open?.rows ?? 0, 40);
  bytes.writeUInt32LE(closed?.open?.checksum ?? 0, 44);
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, headBytes - 4)), headBytes - 4);
  return bytes;
}

export function decodeHead(bytes: Buffer): Head | undefined {
  if (bytes.length !== headBytes || !bytes.subarray(0, 8).equals(magic)) return undefined;
  if (crc32c(bytes.subarray(0, headBytes - 4)) !== bytes.readUInt32LE(headBytes - 4)) return undefined;
  const newest = Number(bytes.readBigUInt64LE(8));
  if (bytes.readUInt32LE(16) === 0) return { newest, closed: undefined };
  const open = {
    number: Number(bytes.readBigUInt64LE(24)),
    bytes: Number(bytes.readBigUInt64LE(32)),
    rows: bytes.readUInt32LE(40),
    checksum: bytes.readUInt32LE(44),
  };
  const waiting = bytes.readUInt32LE(20);
  return { newest, closed: { waiting, open: open.number === 0 ? undefined : open } };
}

export class LogHead {
  readonly #file: SyncedFile;
  readonly #log: Logger;
  readonly #turns = new Mutex();
  #newest = 0;

  constructor(file: SyncedFile, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** Resolves when the head names the segment, whose file must be durable; only then may it take appends. */
  begun(number: number): Promise<void> {
    this.#newest = Math.max(this.#newest, number);
    return this.#write(undefined);
  }

  async close(closed: Closed): Promise<void> {
    if (this.#newest === 0) return;
    try {
      await this.#write(closed);
    } catch (error) {
      this.#log.warn(errorFacts(error), 'Writing the final wal-head failed');
    }
  }

  #write(closed: Closed | undefined): Promise<void> {
    return this.#turns.run(() => this.#file.write(encodeHead({ newest: this.#newest, closed })));
  }
}
