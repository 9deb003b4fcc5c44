export type ExportFormat = 'ndjson' | 'json' | 'csv';

const lineFeed = 0x0a;
const quotationMark = 0x22;
/** `[]` and a line feed: the one array that has a line and no event. */
const emptyArrayBytes = 3;

/** Counts the events in an export as it passes by, to show how far it is and to know that it is whole. */
export class EventCounter {
  readonly #format: ExportFormat;
  #bytes = 0;
  #lines = 0;
  /** Within a cell of CSV, which may have line feeds of its own. */
  #isQuoted = false;

  constructor(format: ExportFormat) {
    this.#format = format;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Every event ends a line, in CSV after a line of names. */
  get events(): number {
    if (this.#format === 'csv') return Math.max(0, this.#lines - 1);
    return this.#format === 'json' && this.#bytes <= emptyArrayBytes ? 0 : this.#lines;
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const isTable = this.#format === 'csv';
    for (const byte of chunk) {
      if (byte === lineFeed && !this.#isQuoted) this.#lines += 1;
      else if (isTable && byte === quotationMark) this.#isQuoted = !this.#isQuoted;
    }
  }
}
