import { eventColumns } from '../base/events/event-columns.ts';
import type { MappedEvent } from '../ocsf/audit-event.ts';
import type { Piece } from '../ocsf/byte-sink.ts';
import { expiryDay } from '../ocsf/retention.ts';
import { ColumnWriter, writeVarint } from './column-writer.ts';

const blockRowsMax = 65_536;
const blockPayloadBytesMax = 16 * 1024 * 1024;

const { seq, ...written } = eventColumns;

interface Column {
  readonly head: Uint8Array;
  /** The values; of an array column, the end index of each row's elements. */
  readonly values: ColumnWriter;
  readonly elements: ColumnWriter | undefined;
}

type Columns = Readonly<Record<keyof typeof written, Column>>;

const columnCount = Object.keys(eventColumns).length;
const seqHead = headOf('seq', seq);

/**
 * Builds a block of ClickHouse's Native format without the values of its last column:
 *
 *     varint columns | varint rows | (name, type, values) × 19 … | "seq" "UInt64" ⟵ values follow when it is sent
 *
 * `seq` follows from segment and row, so the log need not store it. `own` marks the service's own events. The
 * mark belongs to the block, so no body or mapping can set it; only `OwnEvents` makes such blocks.
 */
export class BlockBuilder {
  readonly #own: boolean;
  readonly #column = createColumns();
  readonly #columns: readonly Column[] = Object.values(this.#column);
  readonly #counts = new Uint8Array(16);
  #rows = 0;
  #payloadBytes = 0;

  constructor({ own = false }: { readonly own?: boolean } = {}) {
    this.#own = own;
  }

  add(row: MappedEvent): void {
    fillColumns(this.#column, row);
    this.#column.own.values.bool(this.#own);
    this.#rows += 1;
    this.#payloadBytes += row.ocsf.end - row.ocsf.start + row.source.end - row.source.start;
  }

  rows(): number {
    return this.#rows;
  }

  /** By rows, or by the bytes of both payloads, which are most of a block. */
  isFull(): boolean {
    return this.#rows >= blockRowsMax || this.#payloadBytes >= blockPayloadBytesMax;
  }

  bytes(): number {
    let total = this.#writeCounts(this.#counts, 0) + seqHead.length;
    for (const { head, values, elements } of this.#columns)
      total += head.length + values.length() + (elements?.length() ?? 0);
    return total;
  }

  /** Writes the block at `offset` and forgets the rows; returns the end offset. */
  finish(target: Uint8Array, offset: number): number {
    let at = this.#writeCounts(target, offset);
    for (const { head, values, elements } of this.#columns) {
      target.set(head, at);
      at = values.copyTo(target, at + head.length);
      if (elements !== undefined) at = elements.copyTo(target, at);
    }
    target.set(seqHead, at);
    this.reset();
    return at + seqHead.length;
  }

  reset(): void {
    this.#rows = 0;
    this.#payloadBytes = 0;
    for (const { values, elements } of this.#columns) {
      values.reset();
      elements?.reset();
    }
  }

  #writeCounts(target: Uint8Array, offset: number): number {
    return writeVarint(target, writeVarint(target, offset, columnCount), this.#rows);
  }
}

function createColumns(): Columns {
  const columns = Object.entries(written).map(([name, type]) => {
    const elements = type.startsWith('Array') ? new ColumnWriter() : undefined;
    return [name, { head: headOf(name, type), values: new ColumnWriter(), elements }];
  });
  return Object.fromEntries(columns) as Columns;
}

function fillColumns(of: Columns, row: MappedEvent): void {
  of.org.values.uuid(row.org);
  of.time.values.int64(row.timeMicros);
  of.activity_id.values.int64(row.activityId);
  of.activity_name.values.piece(row.activityName);
  of.severity.values.string(row.severity);
  of.status.values.string(row.status);
  of.level.values.piece(row.level);
  of.result_code.values.int64(row.resultCode);
  of.actor_email.values.piece(row.actorEmail);
  of.actor_id.values.piece(row.actorId);
  addArray(of.names, row.names);
  addArray(of.file_hash, row.fileHashes);
  of.file_name.values.piece(row.fileName);
  of.target_name.values.piece(row.targetName);
  of.flow_id.values.uuidPiece(row.flowId);
  of.expires.values.uint16(expiryDay(row.timeMicros, row.retentionDays));
  of.ocsf.values.piece(row.ocsf);
  of.source.values.piece(row.source);
}

function addArray({ values, elements }: Column, pieces: readonly Piece[]): void {
  if (elements === undefined) throw new TypeError('the column is no array');
  for (const piece of pieces) elements.piece(piece);
  values.uint64(elements.count());
}

/** Each text after its length, which is below 128. */
function headOf(name: string, type: string): Uint8Array {
  const texts = [name, type].map((text) =>
    Buffer.from(`${String.fromCharCode(text.length)}${text}`, 'latin1'),
  );
  return Buffer.concat(texts);
}
