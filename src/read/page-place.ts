import type { Parameters, Settings, Storage } from '../storage/storage.ts';
import { hasColumnFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { sinceFloor } from './newest-span.ts';
import { countOf, type PageStart, pageStart } from './offset-index.ts';
import { byProjection, planOf } from './plans.ts';
import { search, type SearchFound } from './search.ts';

/** Where a page is, and how the engine is to read it. */
export interface PagePlace {
  readonly where: Where;
  readonly start: PageStart;
  readonly parameters: Parameters;
  readonly settings: Settings;
  readonly searchedBackTo: string | undefined;
}

/** Finds a page. Where words are looked for, what the search finds is what there is. Rejects with EngineError. */
export async function placeOf(
  storage: Storage,
  organization: string,
  request: PageRequest,
  signal: AbortSignal,
  floor?: number,
): Promise<PagePlace> {
  const { filter, offset, limit } = request;
  if (filter.words !== undefined)
    return foundPlace(organization, request, await search(storage, organization, request, signal));
  const where = whereClause(organization, filter);
  const parameters = { ...where.parameters, limit, offset, ...(floor === undefined ? {} : { floor }) };
  const settings = { ...planOf(filter), ...oneSnapshot };
  return { where, start: startOf(request, where, floor), parameters, settings, searchedBackTo: undefined };
}

/** The events that a search has found are read by their places: their texts have been looked at. */
function foundPlace(
  organization: string,
  { limit }: PageRequest,
  { total, places, searchedBackTo }: SearchFound,
): PagePlace {
  const where = whereClause(organization, {});
  const seqs = places.map(([, seq]) => BigInt(seq));
  const [newest = '0'] = places[0] ?? [];
  const [oldest = '0'] = places.at(-1) ?? [];
  const condition =
    "seq IN {seqs:Array(UInt64)} AND time <= fromUnixTimestamp64Micro({newest:Int64}, 'UTC') AND " +
    "time >= fromUnixTimestamp64Micro({oldest:Int64}, 'UTC')";
  const start = { scalars: '', condition, skip: '0', total: String(total) };
  const parameters = { ...where.parameters, limit, seqs, newest, oldest };
  return { where, start, parameters, settings: { ...byProjection, ...oneSnapshot }, searchedBackTo };
}

/** What reading a page in slices takes from its place. */
export function slicedOf(organization: string, place: PagePlace, signal: AbortSignal) {
  const { where, start, parameters, settings } = place;
  return { organization, where: where.sql, start, parameters, options: { settings, signal } };
}

function startOf(request: PageRequest, where: Where, floor?: number): PageStart {
  const total = `(${countOf(request.filter, where)})`;
  if (floor !== undefined) return sinceFloor(where, total);
  const found = isSoonFound(request) ? undefined : pageStart(request.filter, where);
  return found ?? { scalars: '', condition: '1', skip: '{offset:UInt64}', total };
}

/**
 * Where only the time decides, to skip the few events before the page costs less than to look for it. Where rows newer
 * than a place are read from it on, what is kept says nothing of where they are.
 */
function isSoonFound({ filter, offset }: PageRequest): boolean {
  if (filter.side?.of === 'newer') return true;
  return offset < limits.deepOffsetMin && !hasColumnFilter(filter);
}

/** The default of this engine; named, so that another default cannot take it away. */
const oneSnapshot = { enable_shared_storage_snapshot_in_query: 1 };
