import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { compressZstd, loadZstd } from '../../base/bytes/zstd.ts';
import { limits } from '../limits.ts';
import { splitLines } from '../../tools/lines.ts';
import { version } from '../../tools/version.ts';
import type { EventColumns } from './columns.ts';

/** Events of a row group. Eight files may be open at once. */
const parquetGroupRowsMax = 65_536;

type ParquetRow = Record<string, unknown>;

const zstdLevel = 3;
/**
 * The last member of an event. The text cannot occur before it: quotation marks in strings are escaped, and
 * no earlier attribute contains the producer's members.
 */
const unmappedStart = ',"unmapped":{';
const unmappedName = 'unmapped';

/** Events wait as text for the next row group. Until its end a file keeps only the offsets of its groups. */
export class ParquetFile {
  readonly #columns: EventColumns;
  readonly #longNumber: RegExp;
  readonly #bytes = new ByteWriter();
  readonly #parquet: ParquetWriter;
  #lines: string[] = [];
  #lineCharacters = 0;

  private constructor(columns: EventColumns) {
    this.#columns = columns;
    const names = columns.longs.map((path) => path.at(-1)).join('|');
    this.#longNumber = new RegExp(`,"(${names})":(-?\\d+)`, 'g');
    const compressors = { ZSTD: (page: Uint8Array) => compressZstd(page, zstdLevel) };
    const schema = [...columns.elements];
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema,
      codec: 'ZSTD',
      compressors,
      // Readers look for the word in the middle, and distrust statistics of files without it.
      createdBy: `auditlog version ${version()}`,
    });
  }

  static async create(columns: EventColumns): Promise<ParquetFile> {
    await loadZstd();
    return new ParquetFile(columns);
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#lineCharacters += line.length;
  }

  get isFull(): boolean {
    return (
      this.#lines.length >= parquetGroupRowsMax || this.#lineCharacters >= limits.parquetGroupCharactersMin
    );
  }

  /** Returns the next bytes of the file. */
  async group(): Promise<Buffer> {
    const rows = this.#lines.map((line) => this.#parseRow(line));
    this.#lines = [];
    this.#lineCharacters = 0;
    const columnData = this.#columns.names.map((name) => ({ name, data: rows.map((row) => row[name]) }));
    if (rows.length > 0) await this.#parquet.write({ columnData, rowGroupSize: rows.length });
    return this.#take();
  }

  async end(): Promise<Buffer> {
    const last = await this.group();
    await this.#parquet.finish();
    return Buffer.concat([last, this.#take()]);
  }

  #take(): Buffer {
    const written = Buffer.from(this.#bytes.getBytes());
    // As the library's own file writer does after each piece: its offset continues, its memory starts anew.
    this.#bytes.index = 0;
    return written;
  }

  /** Attributes by name. `unmapped` stays text with every digit; 64-bit numbers are not rounded. */
  #parseRow(line: string): ParquetRow {
    const at = line.indexOf(unmappedStart);
    if (at < 0) throw new Error('an event of OCSF has nothing unmapped');
    const mapped = `${line.slice(0, at)}}`.replaceAll(this.#longNumber, ',"$1":"$2"');
    const row = JSON.parse(mapped) as ParquetRow;
    row[unmappedName] = line.slice(at + unmappedStart.length - 1, -1);
    for (const path of this.#columns.longs) makeLong(row, path);
    return row;
  }
}

function makeLong(row: ParquetRow, [name = '', ...inner]: readonly string[]): void {
  const value = row[name];
  if (value === undefined) return;
  if (inner.length > 0) makeLong(value as ParquetRow, inner);
  else row[name] = BigInt(value as string);
}

export async function* toParquet(
  ndjson: AsyncIterable<Buffer>,
  columns: EventColumns,
): AsyncGenerator<Buffer> {
  const file = await ParquetFile.create(columns);
  for await (const lines of splitLines(ndjson, limits.parquetLineBytesMax)) {
    for (const line of lines) {
      file.add(line.toString());
      if (file.isFull) yield await file.group();
    }
  }
  yield await file.end();
}
