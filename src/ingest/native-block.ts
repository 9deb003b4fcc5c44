import type { MappedEvent } from '../ocsf/audit-event.ts';
import type { Piece } from '../ocsf/byte-sink.ts';
import { expiryDay } from '../ocsf/retention.ts';
import { type ColumnWriter, columnWriter } from './column-writer.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly writer: ColumnWriter;
  /** Arrays are stored as all end offsets, then all elements: `writer` has the offsets, this the elements. */
  readonly elements?: ColumnWriter;
}

function column(name: string, type: string, bytes: number, elementBytes?: number): Column {
  const writer = columnWriter(bytes);
  return elementBytes === undefined
    ? { name, type, writer }
    : { name, type, writer, elements: columnWriter(elementBytes) };
}

/**
 * Collects rows and lays them out as one block of ClickHouse's Native format, without the values of its last
 * column:
 *
 *     varint columns | varint rows | (name, type, values) × 17 … | "seq" "UInt64" ⟵ values follow when it is sent
 *
 * `seq` is the position in the log, known only once the block is appended there; since it comes last and follows
 * from segment and row, the log stores nothing for it and no byte of the block is ever patched.
 * Low-cardinality columns travel as plain strings; the engine converts them.
 */
export function createBlockBuilder(): {
  add(row: MappedEvent): void;
  rows(): number;
  /** Bytes of both payloads: what a block's size is mostly made of, without asking every column. */
  payloadBytes(): number;
  /** Bytes that `finish` will give. */
  bytes(): number;
  /** Writes the block at `offset` of `target` and forgets the rows; returns the offset after it. */
  finish(target: Uint8Array, offset: number): number;
  /** Forgets the rows added since the last `finish`. */
  reset(): void;
} {
  const org = column('org', 'UUID', 16 * 1024);
  const time = column('time', "DateTime64(6, 'UTC')", 8 * 1024);
  const activityId = column('activity_id', 'Int64', 8 * 1024);
  const activityName = column('activity_name', 'String', 32 * 1024);
  const severity = column('severity', 'String', 16 * 1024);
  const status = column('status', 'String', 8 * 1024);
  const level = column('level', 'String', 8 * 1024);
  const resultCode = column('result_code', 'Int64', 8 * 1024);
  const actorEmail = column('actor_email', 'String', 32 * 1024);
  const actorId = column('actor_id', 'String', 32 * 1024);
  const names = column('names', 'Array(String)', 8 * 1024, 64 * 1024);
  const fileHash = column('file_hash', 'Array(String)', 8 * 1024, 64 * 1024);
  const flowId = column('flow_id', 'UUID', 16 * 1024);
  const expires = column('expires', 'Date', 2 * 1024);
  const ocsf = column('ocsf', 'String', 512 * 1024);
  const source = column('source', 'String', 512 * 1024);
  const columns = [
    org,
    time,
    activityId,
    activityName,
    severity,
    status,
    level,
    resultCode,
    actorEmail,
    actorId,
    names,
    fileHash,
    flowId,
    expires,
    ocsf,
    source,
  ];
  const heads = columns.map(({ name, type }) => header(name, type));
  const seqHead = header('seq', 'UInt64');
  let rows = 0;
  let payloadBytes = 0;

  function addPieces(target: Column, values: readonly Piece[]): void {
    const elements = target.elements as ColumnWriter;
    for (const value of values) elements.piece(value);
    target.writer.uint64(elements.count());
  }

  function reset(): void {
    rows = 0;
    payloadBytes = 0;
    for (const { writer, elements } of columns) {
      writer.reset();
      elements?.reset();
    }
  }

  return {
    add(row) {
      org.writer.uuid(row.org);
      time.writer.int64(row.timeMicros);
      activityId.writer.int64(row.activityId);
      activityName.writer.piece(row.activityName);
      severity.writer.string(row.severity);
      status.writer.string(row.status);
      level.writer.piece(row.level);
      resultCode.writer.int64(row.resultCode);
      actorEmail.writer.piece(row.actorEmail);
      actorId.writer.piece(row.actorId);
      addPieces(names, row.names);
      addPieces(fileHash, row.fileHashes);
      flowId.writer.uuidPiece(row.flowId);
      expires.writer.uint16(expiryDay(row.timeMicros, row.retentionDays));
      ocsf.writer.piece(row.ocsf);
      source.writer.piece(row.source);
      rows += 1;
      payloadBytes += row.ocsf.end - row.ocsf.start + row.source.end - row.source.start;
    },
    rows: () => rows,
    payloadBytes: () => payloadBytes,
    bytes() {
      let total = varintBytes(columns.length + 1) + varintBytes(rows) + seqHead.length;
      for (const head of heads) total += head.length;
      for (const { writer, elements } of columns) total += writer.length() + (elements?.length() ?? 0);
      return total;
    },
    finish(target, offset) {
      let at = writeVarint(target, offset, columns.length + 1);
      at = writeVarint(target, at, rows);
      for (const [index, { writer, elements }] of columns.entries()) {
        const head = heads[index] as Uint8Array;
        target.set(head, at);
        at = writer.copyTo(target, at + head.length);
        if (elements) at = elements.copyTo(target, at);
      }
      target.set(seqHead, at);
      reset();
      return at + seqHead.length;
    },
    reset,
  };
}

function header(name: string, type: string): Uint8Array {
  const text = Buffer.alloc(2 + name.length + type.length);
  text.writeUInt8(name.length, 0);
  text.write(name, 1, 'latin1');
  text.writeUInt8(type.length, 1 + name.length);
  text.write(type, 2 + name.length, 'latin1');
  return text;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  while (rest >= 128) {
    target[at++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  target[at++] = rest;
  return at;
}
