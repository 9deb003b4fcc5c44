import type { Mappings } from '../adapters/mappings.ts';
import { splitArray } from '../ocsf/json-array.ts';
import { decompressBody } from './decompress.ts';
import { limits } from './limits.ts';
import { otlpLines } from './otlp-lines.ts';
import { malformed, refusedBy } from './refusals.ts';
import { endOfLines, hashOf, listOf, TooManyElements, withoutByteOrderMark } from './split-body.ts';
import type { Refused, SplitResult, SplitTask } from './task.ts';

type Piece = [start: number, end: number];

/** Divides a large body into pieces of whole events for several workers. */
export async function splitLarge(task: SplitTask, mappings: Mappings): Promise<SplitResult> {
  const input = task.input.buffer as ArrayBuffer;
  const nothing = { input, form: task.form, pieces: [], bodyHash: undefined };
  try {
    const decompressed = await decompressBody(task.input, task.encoding, task.bodyBytesMax);
    const bodyHash = task.hashed ? hashOf(decompressed) : undefined;
    const bytes = withoutByteOrderMark(decompressed);
    if (task.otlp !== undefined) {
      const room = Buffer.from(task.room, 0, Math.min(task.room.byteLength, task.bodyBytesMax));
      const lines = otlpLines(bytes, task.otlp, room);
      return { input, body: lines, form: 'ndjson', pieces: piecesOfLines(lines, task.pieceBytes), bodyHash };
    }
    const found = piecesOf(bytes, task, mappings);
    if ('code' in found) return { ...nothing, body: found };
    const body = new Uint8Array(task.room, 0, bytes.length);
    body.set(bytes);
    return { ...found, input, body, bodyHash };
  } catch (error) {
    return { ...nothing, body: refusedBy(error) };
  }
}

/** The pieces, or the fault of the body. Throws TooManyElements as soon as there are too many. */
function piecesOf(
  bytes: Buffer,
  { form, adapter, pieceBytes }: SplitTask,
  mappings: Mappings,
): Pick<SplitResult, 'form' | 'pieces'> | Refused {
  if (form === 'ndjson') return { form, pieces: piecesOfLines(bytes, pieceBytes) };
  const list = listOf(bytes, adapter && mappings.of(adapter).records);
  if (list === undefined) return { form, pieces: [[0, bytes.length]] };
  const pieces: Piece[] = [];
  let elements = 0;
  const fault = splitArray(bytes, ...list, (start, end) => {
    elements += 1;
    if (elements > limits.batchEventsMax) throw new TooManyElements();
    const last = pieces.at(-1);
    if (last !== undefined && end - last[0] <= pieceBytes) last[1] = end;
    else pieces.push([start, end]);
  });
  return fault === undefined ? { form: 'elements', pieces } : malformed(fault);
}

function piecesOfLines(bytes: Buffer, pieceBytes: number): Piece[] {
  const pieces: Piece[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = endOfLines(bytes, from, pieceBytes);
    pieces.push([from, end]);
    from = end;
  }
  return pieces;
}
