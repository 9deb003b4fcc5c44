import type { Answer } from '../contract/document.ts';
import { onShard } from '../storage/cluster.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { type RowsRequest, whereClause } from './filter.ts';
import { locatePage } from './page-place.ts';
import { fewTexts, newestFirst, oldestFirst } from './plans.ts';
import { isTooLarge } from './read-body.ts';

const rowMessageCharactersMax = 300;

export type Rows = Answer<'Rows'>;

/** Rejects with EngineError. `organization` is a lower-case UUID. */
export type RowsReader = (organization: string, request: RowsRequest, signal: AbortSignal) => Promise<Rows>;

const shown =
  'Tuple(message String, actor Tuple(user Tuple(name String, email_addr String)), ' +
  'src_endpoint Tuple(ip String), enrichments Array(Tuple(name String, value String)))';

/**
 * Up to `extra_map`, whose numbers the engine's parsers do not all accept, or else up to `metadata`: a parser that gives up would
 * show nothing of the row. Quotation marks keep the search outside of strings.
 */
const parsable = `concat('{', if(position(ocsf, '],"extra_map":') > 0, substring(ocsf, 1, position(ocsf, '],"extra_map":')),
  substring(ocsf, 1, position(ocsf, ',"metadata":{') - 1)), '}')`;

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
  `arrayFirst(pair -> pair.1 = 'fileName' AND pair.2 != 'null', cells.4).2`,
].join(', ');

interface RowsAnswer {
  readonly total: string;
  readonly unsettled: string;
  readonly rows: readonly (readonly string[])[];
}

/**
 * Rows on one side of a position in the order of pages; without one, the newest. Unlike offsets, positions do not shift when
 * events arrive. `unsettled` is the number of matches from the watermark on: with `since` set to `settled`, a later request
 * counts what has arrived since.
 */
export function createRowsReader(storage: Storage, watermark: (organization: string) => bigint): RowsReader {
  return async (organization, request, signal) => {
    const settled = String(watermark(organization));
    const { filter, limit, offset } = request;
    const place = await locatePage(storage, organization, request, signal);
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
    const rows = (answer?.rows ?? []).map(parseRow);
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

function parseRow(cells: readonly string[]): Rows['data'][number] {
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
