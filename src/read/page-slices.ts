import { EngineError } from '../base/errors/engine-error.ts';
import type { HeldBytes, Parameters, QueryOptions, Settings, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';
import { onShard } from '../storage/cluster.ts';
import type { PageStart } from './offset-index.ts';
import { newestFirst, sliceOfPage } from './plans.ts';
import { type Around, type SliceBytes, SlicedFlow } from './sliced-flow.ts';

/** Where a row of a page is, and how many bytes it has, about; numbers as the engine quotes them. */
interface RowPlace {
  readonly total: string;
  readonly micros: string;
  readonly seq: string;
  readonly bytes: string;
}

/** Rows of a page that follow one another: those that fit into `pageSliceBytes`, at least one. */
interface Slice {
  /** The times of the first row and the last, Unix microseconds. */
  readonly to: string;
  readonly from: string;
  readonly seqs: readonly bigint[];
}

/** How a page is read: what its rows are, and what of each is read. */
export interface SlicedPage {
  readonly organization: string;
  /** The condition for rows that match, and where among them the page begins. */
  readonly where: string;
  readonly start: PageStart;
  readonly parameters: Parameters;
  readonly options: QueryOptions;
  /** SQL: what is read of a row, how many bytes that is about, and in which format. */
  readonly columns: string;
  readonly bytes: string;
  readonly format: string;
  readonly settings: Settings;
  /** What stands around the slices, by the total of the page; undefined: the page has no row. */
  around(total: number | undefined): Around | Promise<Around>;
  /** What rows become in the answer. Releases them. */
  render(rows: HeldBytes, count: number): Promise<SliceBytes> | SliceBytes;
}

/** Gives work of an organization its turn; see `inTurn`. */
export type Turn = <T>(
  organization: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** Where nobody else reads. */
export const atOnce: Turn = (_organization, work, signal) => work(signal);

/**
 * A page that is too large to be held. One query, so one snapshot, says which rows it has and the total; the rows are then
 * read slice by slice. A row that is gone by then, as it has expired, fails the answer: it would be another page.
 * Rejects with EngineError.
 */
export async function readSliced(storage: Storage, page: SlicedPage, turn: Turn): Promise<SlicedFlow<Slice>> {
  const { organization, where, start, parameters, options } = page;
  const places = await storage.readRows<RowPlace>(
    onShard(
      storage,
      `${start.scalars} SELECT ${start.total} AS total, toUnixTimestamp64Micro(time) AS micros, seq, ${page.bytes} AS bytes ` +
        `FROM events WHERE ${where} AND ${start.condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${start.skip}`,
    ),
    parameters,
    options,
  );
  const total = places[0]?.total;
  const around = await page.around(total === undefined ? undefined : Number(total));
  const read = (slice: Slice, signal: AbortSignal): Promise<SliceBytes> =>
    turn(organization, (aborting) => readSlice(storage, page, slice, aborting), signal);
  return new SlicedFlow([...slicesOf(places)], read, around);
}

function* slicesOf(places: readonly RowPlace[]): Generator<Slice> {
  let begin = 0;
  let bytes = 0;
  for (const [index, place] of places.entries()) {
    bytes += Number(place.bytes);
    const next = places[index + 1];
    if (next !== undefined && bytes + Number(next.bytes) <= limits.pageSliceBytes) continue;
    const rows = places.slice(begin, index + 1);
    yield { to: (rows[0] ?? place).micros, from: place.micros, seqs: rows.map(({ seq }) => BigInt(seq)) };
    begin = index + 1;
    bytes = 0;
  }
}

async function readSlice(
  storage: Storage,
  { organization, columns, format, settings, render }: SlicedPage,
  { from, to, seqs }: Slice,
  signal: AbortSignal,
): Promise<SliceBytes> {
  const query =
    `SELECT ${columns} FROM events WHERE org = {org:UUID} AND seq IN {seqs:Array(UInt64)} ` +
    "AND time >= fromUnixTimestamp64Micro({from:Int64}, 'UTC') AND time <= fromUnixTimestamp64Micro({to:Int64}, 'UTC') " +
    `${newestFirst} FORMAT ${format}`;
  const rows = await storage.bytes(
    query,
    { org: organization, from, to, seqs },
    { signal, settings: { ...settings, ...sliceOfPage }, ...whole },
  );
  if (!('release' in rows)) throw new Error('a result without a bound was not held');
  return render(rows, seqs.length);
}

/** A slice has as many bytes as was found before, so it is held whatever it has. */
export const whole = { headroom: 0, tailroom: 0, bytesMax: Number.POSITIVE_INFINITY };

/** Throws where rows of a slice are missing: they expired before they were read. Gives the memory back then. */
export function checkRows(rows: HeldBytes, found: number, wanted: number): void {
  if (found === wanted) return;
  rows.release();
  throw new EngineError('refused', `${wanted - found} events of a page were gone before they were read`);
}

const lineFeed = 0x0a;

/** Texts of events, one a line. */
export function textSlice(rows: HeldBytes, wanted: number): SliceBytes {
  const bytes = Buffer.from(rows.buffer.buffer, rows.buffer.byteOffset + rows.start, rows.end - rows.start);
  let lines = bytes.length === 0 ? 0 : 1;
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) lines++;
  checkRows(rows, lines, wanted);
  return { bytes, release: rows.release };
}
