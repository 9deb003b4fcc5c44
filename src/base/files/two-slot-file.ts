import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import { replaceFile, syncDirectory } from './durable-file.ts';
import { ifThere, namingFile } from '../errors/system-error.ts';

const magic = Buffer.from('AUDTSLOT', 'latin1');
const headerBytes = 24;

interface Slot {
  readonly version: bigint;
  readonly content: Buffer;
}

/**
 * A small file whose content is replaced often, whole or not at all. It has two slots, written in turn:
 *
 *     slot  "AUDTSLOT" | u64 version | u32 length | u32 CRC-32C of the 20 bytes before and the content | content
 *
 * A write is one sync of room that the file has already, so it needs neither a free block nor a sync of the directory.
 * One that a crash cuts short leaves the other slot.
 */
export class TwoSlotFile {
  readonly #path: string;
  readonly #slotBytes: number;

  constructor(path: string, contentBytesMax: number) {
    this.#path = path;
    this.#slotBytes = headerBytes + contentBytesMax;
  }

  /** The last content; `damaged` where there is a file and no slot of it is intact, `undefined` where there is none. */
  async read(): Promise<Buffer | 'damaged' | undefined> {
    const slots = await this.#slots();
    if (slots === undefined) return undefined;
    return newest(slots)?.content ?? 'damaged';
  }

  /** Replaces the content; resolves when that survives a power cut. Not to be called again before that. */
  async write(content: Uint8Array): Promise<void> {
    if (content.length > this.#slotBytes - headerBytes) throw new Error(`${this.#path}: too much content`);
    const slots = await this.#slots();
    if (slots === undefined) await replaceFile(this.#path, Buffer.alloc(this.#slotBytes * 2));
    const before = newest(slots ?? []);
    const version = (before?.version ?? 0n) + 1n;
    // Never over the content that counts.
    const at = before !== undefined && slots?.[0] === before ? this.#slotBytes : 0;
    const handle = await open(this.#path, 'r+');
    try {
      await writeAll(handle, encode(version, content), at);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
    await ifThere(syncDirectory(dirname(this.#path)));
  }

  async #slots(): Promise<(Slot | undefined)[] | undefined> {
    const handle = await ifThere(open(this.#path, 'r'));
    if (handle === undefined) return undefined;
    try {
      const bytes = await namingFile(this.#path, () => handle.readFile());
      return [0, this.#slotBytes].map((at) => decode(bytes.subarray(at, at + this.#slotBytes)));
    } finally {
      await handle.close();
    }
  }
}

function newest(slots: readonly (Slot | undefined)[]): Slot | undefined {
  const [one, other] = slots;
  if (one === undefined || other === undefined) return one ?? other;
  return one.version > other.version ? one : other;
}

function encode(version: bigint, content: Uint8Array): Buffer {
  const slot = Buffer.alloc(headerBytes + content.length);
  magic.copy(slot);
  slot.writeBigUInt64LE(version, 8);
  slot.writeUInt32LE(content.length, 16);
  slot.writeUInt32LE(crc32c(content, crc32c(slot.subarray(0, 20))), 20);
  slot.set(content, headerBytes);
  return slot;
}

function decode(slot: Buffer): Slot | undefined {
  if (slot.length < headerBytes || !slot.subarray(0, 8).equals(magic)) return undefined;
  const length = slot.readUInt32LE(16);
  if (length > slot.length - headerBytes) return undefined;
  const content = slot.subarray(headerBytes, headerBytes + length);
  if (crc32c(content, crc32c(slot.subarray(0, 20))) !== slot.readUInt32LE(20)) return undefined;
  return { version: slot.readBigUInt64LE(8), content };
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}
