import { EngineError } from '../base/errors/engine-error.ts';
import type { HeldBytes, Parameters, QueryOptions, Settings, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';
import { onShard } from '../storage/cluster.ts';
import type { PageStart } from './offset-index.ts';
import { newestFirst, sliceOfPage } from './plans.ts';
import { type Around, type SliceBytes, SlicedFlow } from './sliced-flow.ts';

interface RowPlace {
  readonly total: string;
  readonly micros: string;
  readonly seq: string;
  readonly bytes: string;
}

interface Slice {
  readonly to: string;
  readonly from: string;
  readonly seqs: readonly bigint[];
}

export interface SlicedPage {
  readonly organization: string;
  readonly where: string;
  readonly start: PageStart;
  readonly parameters: Parameters;
  readonly options: QueryOptions;
  readonly columns: string;
  readonly bytes: string;
  readonly format: string;
  readonly settings: Settings;
  around(total: number | undefined): Around | Promise<Around>;
  render(rows: HeldBytes, count: number): Promise<SliceBytes> | SliceBytes;
}

export type Turn = <T>(
  organization: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

export const atOnce: Turn = (_organization, work, signal) => work(signal);

/**
 * One query, on one snapshot, lists the rows and the total; then the rows are read slice by slice. If a row expires meanwhile,
 * the answer fails. Rejects with EngineError.
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
  if (!('release' in rows)) throw new Error('An unbounded result was not buffered');
  return render(rows, seqs.length);
}

/** The size of a slice is known, so it is buffered whatever it is. */
export const whole = { headroom: 0, tailroom: 0, bytesMax: Number.POSITIVE_INFINITY };

/** Throws, and releases the memory, if rows of a slice expired before they were read. */
export function checkRows(rows: HeldBytes, found: number, wanted: number): void {
  if (found === wanted) return;
  rows.release();
  throw new EngineError('refused', `${wanted - found} events of a page expired before they were read`);
}

const lineFeed = 0x0a;

export function textSlice(rows: HeldBytes, wanted: number): SliceBytes {
  const bytes = Buffer.from(rows.buffer.buffer, rows.buffer.byteOffset + rows.start, rows.end - rows.start);
  let lines = bytes.length === 0 ? 0 : 1;
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) lines++;
  checkRows(rows, lines, wanted);
  return { bytes, release: rows.release };
}
