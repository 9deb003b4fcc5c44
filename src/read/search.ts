import { formatMicros } from '../base/time/timestamp.ts';
import type { QueryOptions, Storage } from '../storage/storage.ts';
import { type AuditFilter, type PageRequest, timesOf, whereClause } from './filter.ts';
import { newestFirst, choosePlan, throughTexts } from './plans.ts';

const searchMsMax = 1_500;
const searchRowsMin = 20_000;
const searchThreads = 2;

export interface SearchFound {
  readonly total: number;
  /** Positions of the page's events, newest first: Unix microseconds and `seq`, both as decimal text. */
  readonly places: readonly (readonly [micros: string, seq: string])[];
  /** RFC 3339; a search continues with it as `endTime`. Undefined: all was searched. */
  readonly searchedBackTo: string | undefined;
}

export interface SearchBudget {
  readonly ms: number;
  readonly firstRows: number;
}

const usual: SearchBudget = { ms: searchMsMax, firstRows: searchRowsMin };

/**
 * Searches the texts of events from the newest on, without an index, until its time is over. Each slice is
 * what the engine can do in the remaining time, at the rate measured so far. Rejects with EngineError.
 *
 *     newest ├── slice ──┼── slice ──┼────── slice ──────┤ searchedBackTo        oldest
 */
export async function search(
  storage: Storage,
  organization: string,
  { filter, offset, limit }: Pick<PageRequest, 'filter' | 'offset' | 'limit'>,
  signal: AbortSignal,
  { ms, firstRows }: SearchBudget = usual,
): Promise<SearchFound> {
  const options = { signal, settings: { ...choosePlan(filter), max_threads: searchThreads } };
  const { from, to } = timesOf(filter);
  const isNewer = filter.side?.of === 'newer';
  const begun = performance.now();
  const places: (readonly [string, string])[] = [];
  let total = 0;
  let looked = 0;
  for (let upto = to, rows = firstRows; ; ) {
    const past = await instantOfNth(storage, organization, { ...filter, toMicros: upto }, rows, options);
    const since = past === undefined ? from : Math.min(past + 1, upto);
    const slice = { ...filter, fromMicros: since, toMicros: upto };
    const page = { skip: Math.max(0, offset - total), rows: limit - places.length };
    const found = await searchSlice(storage, organization, slice, isNewer ? { last: limit } : page, options);
    places.push(...found.places);
    // A page of newer events consists of those nearest to the position: the last ones.
    if (isNewer) places.splice(0, Math.max(0, places.length - limit));
    total += found.total;
    upto = since - 1;
    if (past === undefined || upto < from) return { total, places, searchedBackTo: undefined };
    looked += rows;
    const spent = performance.now() - begun;
    if (spent >= ms) return { total, places, searchedBackTo: formatMicros(upto) };
    rows = Math.min(Math.max(firstRows, Math.round((looked / spent) * (ms - spent))), 2 * looked);
  }
}

/** Undefined if there are fewer events. */
async function instantOfNth(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
  rows: number,
  options: QueryOptions,
): Promise<number | undefined> {
  const { words: _, notWords: __, ...others } = filter;
  const where = whereClause(organization, others);
  const query =
    `SELECT toUnixTimestamp64Micro(time) AS micros FROM events WHERE ${where.sql} ` +
    `${newestFirst} LIMIT 1 OFFSET {rows:UInt64}`;
  const parameters = { ...where.parameters, rows };
  const [found] = await storage.readRows<{ micros: string }>(query, parameters, options);
  return found === undefined ? undefined : Number(found.micros);
}

async function searchSlice(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
  page: { readonly skip: number; readonly rows: number } | { readonly last: number },
  options: QueryOptions,
): Promise<Pick<SearchFound, 'total' | 'places'>> {
  const where = whereClause(organization, filter);
  const part = 'last' in page ? '-{last:Int64}' : '{skip:UInt64} + 1, {rows:UInt64}';
  const query =
    'SELECT count() AS total, arraySlice(arrayReverseSort(groupArray((toUnixTimestamp64Micro(time), seq))), ' +
    `${part}) AS places FROM events WHERE ${where.sql}`;
  const [found] = await storage.readRows<{ total: string; places: [string, string][] }>(
    query,
    { ...where.parameters, ...page },
    { ...options, settings: { ...options.settings, ...throughTexts(filter) } },
  );
  return { total: Number(found?.total ?? 0), places: found?.places ?? [] };
}
