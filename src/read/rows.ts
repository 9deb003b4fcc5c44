import type { Answer } from '../contract/document.ts';
import { onShard } from '../storage/cluster.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { type RowsRequest, whereClause } from './filter.ts';
import { placeOf } from './page-place.ts';
import { fewTexts, newestFirst, oldestFirst } from './plans.ts';
import { isTooLarge } from './read-body.ts';

/** Characters of a message in the list of the web page, which shows a line of it. */
const rowMessageCharactersMax = 300;

/** Events as a list shows them, newest first, and how many match. */
export type Rows = Answer<'Rows'>;

/** Rejects with EngineError. `organization` is a lower-case UUID. */
export type RowsReader = (organization: string, request: RowsRequest, signal: AbortSignal) => Promise<Rows>;

/** What of the rendering a list shows: parsed once a row, and none of it travels that is not shown. */
const shown =
  'Tuple(message String, actor Tuple(user Tuple(name String, email_addr String)), ' +
  'src_endpoint Tuple(ip String), enrichments Array(Tuple(name String, value String)))';

/**
 * The rendering before `extra_map`, whose numbers no parser of the engine takes all, or else before `metadata`, which is
 * whole on pages only: where a parser gives up, nothing of the row would be shown. What stands in quotation marks is found
 * outside of strings only.
 */
const parsable = `concat('{', if(position(ocsf, '],"extra_map":') > 0, substring(ocsf, 1, position(ocsf, '],"extra_map":')),
  substring(ocsf, 1, position(ocsf, ',"metadata":{') - 1)), '}')`;

/** In the order of `rowOf`. */
const cells = [
  'toString(seq)',
  'toString(toUnixTimestamp64Micro(time))',
  'activity_name',
  'severity',
  'status',
  `substringUTF8(cells.1, 1, ${rowMessageCharactersMax})`,
  'cells.2.1.1',
  'cells.2.1.2',
  'cells.3.1',
  'target_name',
  'file_name',
  // A name that is null is none.
  `arrayFirst(pair -> pair.1 = 'fileName' AND pair.2 != 'null', cells.4).2`,
].join(', ');

interface RowsAnswer {
  readonly total: string;
  readonly unsettled: string;
  readonly rows: readonly (readonly string[])[];
}

/**
 * Reads rows on one side of a place in the order of pages, those next to it; without a place the newest. What arrives
 * meanwhile moves nothing, as it would where rows are counted from the newest. The total is of the same snapshot.
 *
 * `watermark` is an order number below which no event of the organization is stored any more. How many of the total are
 * not below it tells what came later: of `since` that number there are so many more by then.
 */
export function createRowsReader(storage: Storage, watermark: (organization: string) => bigint): RowsReader {
  return async (organization, request, signal) => {
    const settled = String(watermark(organization));
    const { filter, limit, offset } = request;
    const place = await placeOf(storage, organization, request, signal);
    const { scalars, condition, skip, total } = place.start;
    const isAscending = filter.side?.of === 'newer' && filter.words === undefined;
    const order = isAscending ? oldestFirst : newestFirst;
    const matching = whereClause(organization, filter);
    const found =
      `SELECT seq, time, activity_name, severity, status, ocsf, file_name, target_name FROM events ` +
      `WHERE ${place.where.sql} AND ${condition} ${order} LIMIT {limit:UInt64} OFFSET ${skip}`;
    const query =
      `${scalars} SELECT toString(${total}) AS total, ` +
      `toString((SELECT count() FROM events WHERE ${matching.sql} AND seq >= {settled:UInt64})) AS unsettled, ` +
      `groupArray([${cells}]) AS rows ` +
      `FROM (SELECT *, JSONExtract(${parsable}, '${shown}') AS cells FROM (${found}))`;
    const parameters = { ...matching.parameters, ...place.parameters, settled };
    const ask = (settings: Settings) =>
      storage.readRows<RowsAnswer>(onShard(storage, query), parameters, { settings, signal });
    const [answer] = await ask(place.settings).catch((error: unknown) => {
      if (!isTooLarge(error)) throw error;
      return ask({ ...place.settings, ...fewTexts });
    });
    const rows = (answer?.rows ?? []).map(rowOf);
    return {
      data: rows.toSorted((a, b) => b.time - a.time || (BigInt(b.seq) > BigInt(a.seq) ? 1 : -1)),
      meta: {
        total: Number(answer?.total ?? 0),
        limit,
        offset,
        settled,
        unsettled: Number(answer?.unsettled ?? 0),
        searched_back_to: place.searchedBackTo,
      },
    };
  };
}

function rowOf(cells: readonly string[]): Rows['data'][number] {
  const [seq = '', time, activity_name = '', severity, status, message = '', ...others] = cells;
  const [actor_name, actor_email, ip, target_name, sent, extra] = others.map((text) => text || undefined);
  return {
    seq,
    time: Number(time),
    activity_name,
    severity: severity as Rows['data'][number]['severity'],
    status: status as Rows['data'][number]['status'],
    message,
    actor_name,
    actor_email,
    ip,
    target_name,
    file_name: sent ?? extra,
  };
}
