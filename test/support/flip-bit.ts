import { open } from 'node:fs/promises';

/** Flips a bit of a file at a share of its length: 1 is its last byte. */
export async function flipBit(path: string, share = 0.5): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const at = Math.min(size - 1, Math.floor(size * share));
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    await file.write(Buffer.from([(byte[0] ?? 0) ^ 0x10]), 0, 1, at);
  } finally {
    await file.close();
  }
}
