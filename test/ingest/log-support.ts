import { crc32c } from '@node-rs/crc32';
import type { LogFiles } from '../../src/ingest/files.ts';
import type { FrameInput } from '../../src/ingest/segment.ts';
import type { SealedSegment } from '../../src/ingest/sealed-segments.ts';
import type { Wal } from '../../src/ingest/wal.ts';
import type { Random } from '../support/torn-files.ts';

/** Evenly distributed numbers from a seed (mulberry32): generated doubles are biased and would omit paths. */
export function randomOf(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A frame whose payload has its rows: a 4-byte id each, and filler so that frames span sectors. */
export function frameOf(ids: readonly number[], fillerBytes: number): FrameInput {
  const payload = Buffer.alloc(ids.length * 4 + fillerBytes, 0x20);
  for (const [index, id] of ids.entries()) payload.writeUInt32LE(id, index * 4);
  return { rows: ids.length, payload, payloadCrc: crc32c(payload), notes: '' };
}

/** Rows of a segment as [position in the segment, id]. */
export async function rowsOf(wal: Wal, segment: SealedSegment): Promise<[number, number][]> {
  const { frames } = await wal.read(segment);
  return frames.flatMap(({ payload, rows, firstRow }) =>
    [...Array(rows).keys()].map((i): [number, number] => [
      firstRow + i,
      Buffer.from(payload).readUInt32LE(i * 4),
    ]),
  );
}

/** Overwrites or creates a file of a closed log. */
export async function overwrite(files: LogFiles, name: string, content: Uint8Array): Promise<void> {
  const exists = (await files.list()).includes(name);
  const file = exists ? await files.open(name) : await files.create(name);
  if (exists) await file.truncate(0);
  await file.append([content]);
  await file.close();
}
