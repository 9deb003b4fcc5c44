import type { Parameters, Settings, Storage } from '../storage/storage.ts';
import { hasColumnFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { sinceFloor } from './newest-span.ts';
import { countQuery, type PageStart, pageStart } from './offset-index.ts';
import { byProjection, choosePlan } from './plans.ts';
import { search, type SearchFound } from './search.ts';

export interface PagePlace {
  readonly where: Where;
  readonly start: PageStart;
  readonly parameters: Parameters;
  readonly settings: Settings;
  readonly searchedBackTo: string | undefined;
}

/** Locates a page; with `q`, the total is the matches found in the budget. Rejects with EngineError. */
export async function locatePage(
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
  const settings = { ...choosePlan(filter), ...oneSnapshot };
  return {
    where,
    start: chooseStart(request, where, floor),
    parameters,
    settings,
    searchedBackTo: undefined,
  };
}

/** The texts of these events were already searched. */
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

export function readSlices(organization: string, place: PagePlace, signal: AbortSignal) {
  const { where, start, parameters, settings } = place;
  return { organization, where: where.sql, start, parameters, options: { settings, signal } };
}

function chooseStart(request: PageRequest, where: Where, floor?: number): PageStart {
  const total = `(${countQuery(request.filter, where)})`;
  if (floor !== undefined) return sinceFloor(where, total);
  const found = isSoonFound(request) ? undefined : pageStart(request.filter, where);
  return found ?? { scalars: '', condition: '1', skip: '{offset:UInt64}', total };
}

/**
 * With a condition on time only, skipping a few events costs less than locating the page. Counts begin at the newest event, so
 * they do not help upwards.
 */
function isSoonFound({ filter, offset }: PageRequest): boolean {
  if (filter.side?.of === 'newer') return true;
  return offset < limits.deepOffsetMin && !hasColumnFilter(filter);
}

/** The engine's default, pinned. */
const oneSnapshot = { enable_shared_storage_snapshot_in_query: 1 };
