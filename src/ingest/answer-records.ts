import { limits } from './limits.ts';

/** The answer to a batch (contract: Ingest). */
export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** What is remembered of one answered request; travels as the notes of its frame, then in a file of its hour. */
export interface Entry {
  /** Digest of API key and Idempotency-Key, base64url. */
  readonly id: string;
  /** What was sent (`sentOf`). */
  readonly body: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly answer: BatchAnswer;
}

/**
 * An answer as it lies in memory and in files:
 *
 *     id 16 | what was sent 16 | Unix milliseconds 6 | accepted 3 | rejected 3
 *
 * and its errors, which few have, elsewhere: id 16 | Unix milliseconds 6 | bytes 4 | JSON.
 */
export const recordBytes = 44;
/** How much of a SHA-256 stands for an id, and for what was sent: nobody finds two with the same. */
export const digestBytes = 16;
const atOffset = digestBytes * 2;
const acceptedOffset = atOffset + 6;
const rejectedOffset = acceptedOffset + 3;
const errorsHeaderBytes = digestBytes + 6 + 4;

/** The errors of an answer, as JSON. */
export interface KeptErrors {
  readonly id: string;
  readonly at: number;
  readonly json: Uint8Array;
}

/** What notes hold. */
export function entryOf(notes: Uint8Array): Entry {
  return JSON.parse(Buffer.from(notes).toString('utf8')) as Entry;
}

/** The bytes of a digest in base64url. Throws where it is none. */
export function digestOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== digestBytes) throw new Error(`a digest of ${bytes.length} bytes`);
  return bytes;
}

/** Throws where a number does not fit. */
export function encodeRecord({ id, body, at, answer }: Entry): Buffer {
  const record = Buffer.allocUnsafe(recordBytes);
  record.set(digestOf(id), 0);
  record.set(digestOf(body), digestBytes);
  record.writeUIntLE(at, atOffset, 6);
  record.writeUIntLE(answer.accepted, acceptedOffset, 3);
  record.writeUIntLE(answer.rejected, rejectedOffset, 3);
  return record;
}

/** The time of the record at an offset. */
export function timeOf(records: Buffer, offset = 0): number {
  return records.readUIntLE(offset + atOffset, 6);
}

/** What is in a record; `errorsOf` has what is not. */
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

/** The errors of an answer, where it has some and they are not too many to keep. */
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

/** All errors in a block of them. */
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

/** The records, or errors, in a block that are of before a moment (Unix milliseconds). */
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
