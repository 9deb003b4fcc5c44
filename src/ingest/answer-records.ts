import { limits } from './limits.ts';

export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** The remembered answer to one request: notes of its frame first, then a record in a file of its hour. */
export interface Entry {
  readonly id: string;
  readonly body: string;
  readonly at: number;
  readonly answer: BatchAnswer;
}

/**
 * A record in memory and in files:
 *
 *     id 16 | body digest 16 | Unix milliseconds 6 | accepted 3 | rejected 3
 *
 * Errors are rare and kept apart: id 16 | Unix milliseconds 6 | bytes 4 | JSON.
 */
export const recordBytes = 44;
/** Bytes kept of a SHA-256, enough against collisions. */
export const digestBytes = 16;
const atOffset = digestBytes * 2;
const acceptedOffset = atOffset + 6;
const rejectedOffset = acceptedOffset + 3;
const errorsHeaderBytes = digestBytes + 6 + 4;

export interface KeptErrors {
  readonly id: string;
  readonly at: number;
  readonly json: Uint8Array;
}

export function entryOf(notes: Uint8Array): Entry {
  return JSON.parse(Buffer.from(notes).toString('utf8')) as Entry;
}

export function digestOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== digestBytes) throw new Error(`a digest of ${bytes.length} bytes`);
  return bytes;
}

export function encodeRecord({ id, body, at, answer }: Entry): Buffer {
  const record = Buffer.allocUnsafe(recordBytes);
  record.set(digestOf(id), 0);
  record.set(digestOf(body), digestBytes);
  record.writeUIntLE(at, atOffset, 6);
  record.writeUIntLE(answer.accepted, acceptedOffset, 3);
  record.writeUIntLE(answer.rejected, rejectedOffset, 3);
  return record;
}

export function timeOf(records: Buffer, offset = 0): number {
  return records.readUIntLE(offset + atOffset, 6);
}

export function decodeRecord(record: Buffer, errorsOf: (id: string) => BatchAnswer['errors']): Entry {
  const id = record.toString('base64url', 0, digestBytes);
  const rejected = record.readUIntLE(rejectedOffset, 3);
  return {
    id,
    body: record.toString('base64url', digestBytes, atOffset),
    at: timeOf(record),
    answer: {
      accepted: record.readUIntLE(acceptedOffset, 3),
      rejected,
      errors: rejected === 0 ? [] : errorsOf(id),
    },
  };
}

/** Empty if there are no errors, or too many to keep. */
export function errorsOf({ id, at, answer }: Entry): KeptErrors[] {
  if (answer.errors.length === 0) return [];
  const json = Buffer.from(JSON.stringify(answer.errors));
  return json.length + errorsHeaderBytes > limits.idempotencyPartBytesMax ? [] : [{ id, at, json }];
}

export function encodeErrors({ id, at, json }: KeptErrors): Buffer {
  const header = Buffer.allocUnsafe(errorsHeaderBytes);
  header.set(digestOf(id), 0);
  header.writeUIntLE(at, digestBytes, 6);
  header.writeUInt32LE(json.length, digestBytes + 6);
  return Buffer.concat([header, json]);
}

export function* decodeErrors(block: Buffer): Generator<KeptErrors> {
  for (let offset = 0; offset < block.length; ) {
    const jsonAt = offset + errorsHeaderBytes;
    const end = jsonAt + block.readUInt32LE(offset + digestBytes + 6);
    const id = block.toString('base64url', offset, offset + digestBytes);
    yield {
      id,
      at: block.readUIntLE(offset + digestBytes, 6),
      json: Buffer.from(block.subarray(jsonAt, end)),
    };
    offset = end;
  }
}

/** The records, or errors, in a block from before `beforeMs` (Unix). */
export const partsBefore = {
  answers(records: Buffer, beforeMs: number): Buffer[] {
    const found: Buffer[] = [];
    for (let at = 0; at < records.length; at += recordBytes)
      if (timeOf(records, at) < beforeMs) found.push(records.subarray(at, at + recordBytes));
    return found;
  },
  errors: (block: Buffer, beforeMs: number): Buffer[] =>
    [...decodeErrors(block)].filter(({ at }) => at < beforeMs).map(encodeErrors),
};
