import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';

/**
 * Small .zip files (PKWARE APPNOTE 6.3.9), whole in memory:
 *
 *     for each file:  local header · name · compressed bytes
 *     for each file:  entry of the directory · name
 *     end of the directory
 */

const signatures = { local: 0x04034b50, entry: 0x02014b50, end: 0x06054b50 } as const;
const headBytes = { local: 30, entry: 46, end: 22 } as const;
const methods = { stored: 0, deflated: 8 } as const;
/** A comment may stand behind the end of the directory. */
const commentBytesMax = 65_535;
const version = 20;
const utf8Names = 0x0800;
/** So the upper half of the attributes is a mode: readable by all. */
const madeOnUnix = (3 << 8) | version;
const modeOfFile = 0o100644;

const deflated = promisify(deflateRaw);
const inflated = promisify(inflateRaw);

export interface ZippedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** UTC, as MS-DOS has no zone. */
function dosTime(ms: number): number {
  const at = new Date(ms);
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return date * 65_536 + time;
}

/** `madeMs`: Unix milliseconds, for all files. */
export async function zip(files: readonly ZippedFile[], madeMs: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const content = await deflated(bytes);
    const nameBytes = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(version, 0);
    facts.writeUInt16LE(utf8Names, 2);
    facts.writeUInt16LE(methods.deflated, 4);
    facts.writeUInt32LE(dosTime(madeMs), 6);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(content.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.alloc(4);
    local.writeUInt32LE(signatures.local);
    const start = Buffer.alloc(6);
    start.writeUInt32LE(signatures.entry, 0);
    start.writeUInt16LE(madeOnUnix, 4);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(modeOfFile * 65_536, 6);
    end.writeUInt32LE(at, 10);
    directory.push(start, facts, end, nameBytes);
    pieces.push(local, facts, nameBytes, content);
    at += headBytes.local + nameBytes.length + content.length;
  }
  const directoryBytes = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(headBytes.end);
  end.writeUInt32LE(signatures.end, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...pieces, ...directory, end]);
}

export const isZip = (start: Buffer): boolean =>
  start.length >= 4 && start.readUInt32LE(0) === signatures.local;

/** Throws an Error for a damaged file, or for more than `bytesMax` when unpacked. */
export async function unzip(bytes: Buffer, bytesMax: number): Promise<Map<string, Buffer>> {
  const endMark = Buffer.alloc(4);
  endMark.writeUInt32LE(signatures.end);
  const end = bytes.lastIndexOf(endMark);
  const isWhole = end >= Math.max(0, bytes.length - headBytes.end - commentBytesMax);
  if (!isWhole || end + headBytes.end > bytes.length) throw new Error('this is no whole .zip');
  const files = new Map<string, Buffer>();
  let left = bytesMax;
  let at = bytes.readUInt32LE(end + 16);
  for (let entries = bytes.readUInt16LE(end + 10); entries > 0; entries--) {
    if (at + headBytes.entry > end || bytes.readUInt32LE(at) !== signatures.entry)
      throw new Error('the directory of the .zip is damaged');
    const [name, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place)) as [
      number,
      number,
      number,
    ];
    const path = bytes.toString('utf8', at + headBytes.entry, at + headBytes.entry + name);
    const content = await unpackEntry(bytes, at, path, left);
    left -= content.length;
    files.set(path, content);
    at += headBytes.entry + name + extra + comment;
  }
  return files;
}

async function unpackEntry(bytes: Buffer, at: number, path: string, bytesMax: number): Promise<Buffer> {
  const damaged = (cause?: unknown) => new Error(`${path} in the .zip is damaged`, { cause });
  const method = bytes.readUInt16LE(at + 10);
  const local = bytes.readUInt32LE(at + 42);
  if (bytes.readUInt32LE(at + 24) > bytesMax) throw new Error(`the files in the .zip are too large`);
  if (local + headBytes.local > bytes.length) throw damaged();
  const from = local + headBytes.local + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const packed = bytes.subarray(from, from + bytes.readUInt32LE(at + 20));
  if (method !== methods.stored && method !== methods.deflated)
    throw new Error(`${path} in the .zip is packed in a way that is not known here`);
  const content =
    method === methods.stored
      ? packed
      : await inflated(packed, { maxOutputLength: Math.max(1, bytesMax) }).catch((error: unknown) => {
          throw damaged(error);
        });
  if (crc32(content) !== bytes.readUInt32LE(at + 16)) throw damaged();
  return content;
}
