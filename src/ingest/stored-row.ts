import { eventColumns } from '../base/event-columns.ts';
import type { MappedEvent } from '../ocsf/audit-event.ts';
import { type Columns, createColumns, fillColumns } from './native-block.ts';

/** What the entry of an event in its tree says already, and what a row is asked for by. */
const notRendered = ['org', 'time', 'expires', 'own', 'source', 'seq'] as const;
/** What follows from the source event: what readers are shown, and find. */
export type RenderedColumn = Exclude<keyof typeof eventColumns, (typeof notRendered)[number]>;
const renderedColumns = Object.entries(eventColumns).filter(
  ([name]) => !(notRendered as readonly string[]).includes(name),
) as [RenderedColumn, string][];

/** In which order a StoredRow reads a row of the table, in the engine's RowBinary. */
export const storedRowColumns = ['seq', 'source', ...renderedColumns.map(([name]) => name)].join(', ');

const fixedBytes: ReadonlyMap<string, number> = new Map([
  ['Int64', 8],
  ['UInt64', 8],
  ['UUID', 16],
]);

/** A row as it is stored, beside the row that its source event makes: each column by the rules of ingest. */
export class StoredRow {
  #bytes: Uint8Array = new Uint8Array();
  /** Where its values begin, and where the last one ends. */
  readonly #starts = new Float64Array(renderedColumns.length + 1);
  #at = 0;
  #seqAt = 0;
  #sourceAt = 0;
  #sourceEnd = 0;
  readonly #columns: Columns = createColumns();
  readonly #allColumns = Object.values(this.#columns);

  /** Where the row ends that begins at an offset; undefined where it is cut off, and cannot be asked for anything. */
  read(bytes: Uint8Array, at: number): number | undefined {
    this.#bytes = bytes;
    this.#seqAt = at;
    this.#at = at + 8;
    const length = this.#number();
    this.#sourceAt = this.#at;
    this.#at += length;
    this.#sourceEnd = this.#at;
    for (const [place, [, type]] of renderedColumns.entries()) {
      this.#starts[place] = this.#at;
      this.#skip(type);
    }
    this.#starts[renderedColumns.length] = this.#at;
    return this.#at <= bytes.length ? this.#at : undefined;
  }

  get seq(): bigint {
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset).getBigUint64(this.#seqAt, true);
  }

  /** Where in the bytes its source event stands. */
  get source(): readonly [start: number, end: number] {
    return [this.#sourceAt, this.#sourceEnd];
  }

  /** Its rendering, as text. */
  ocsf(): string {
    const place = renderedColumns.findIndex(([name]) => name === 'ocsf');
    this.#at = this.#starts[place] as number;
    const length = this.#number();
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, length).toString();
  }

  /** The columns in which it is another one than its source event makes. */
  differingFrom(event: MappedEvent): RenderedColumn[] {
    for (const { values, elements } of this.#allColumns) {
      values.reset();
      elements?.reset();
    }
    fillColumns(this.#columns, event);
    const differing: RenderedColumn[] = [];
    for (const [place, [name]] of renderedColumns.entries())
      if (!this.#isSame(name, this.#starts[place] as number, this.#starts[place + 1] as number))
        differing.push(name);
    return differing;
  }

  /** A value of RowBinary is one of a Native column, but for an array's: that has a length, a column where it ends. */
  #isSame(name: RenderedColumn, start: number, end: number): boolean {
    const { values, elements } = this.#columns[name];
    if (elements === undefined) return values.isSame(this.#bytes, start, end);
    this.#at = start;
    return this.#number() === elements.count() && elements.isSame(this.#bytes, this.#at, end);
  }

  /** A number in groups of seven bits; behind the end of the bytes any. */
  #number(): number {
    let value = 0;
    for (let factor = 1; this.#at < this.#bytes.length; factor *= 128) {
      const group = this.#bytes[this.#at++] as number;
      value += (group & 127) * factor;
      if (group < 128) return value;
    }
    this.#at = Number.POSITIVE_INFINITY;
    return 0;
  }

  #skip(type: string): void {
    const isArray = type.startsWith('Array');
    let texts = isArray ? this.#number() : 1;
    const fixed = fixedBytes.get(type);
    if (fixed !== undefined) this.#at += fixed;
    else
      for (; texts > 0 && this.#at <= this.#bytes.length; texts--) {
        const length = this.#number();
        this.#at += length;
      }
  }
}
