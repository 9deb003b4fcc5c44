import type { Clock } from '../base/clock.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { findDeepStart } from './deep-offset.ts';
import { type PageRequest, type Where, whereClause } from './filter.ts';
import { framingSettings, newestFirst } from './framing.ts';
import { planOf } from './plans.ts';
import { type ReadBody, readFramed } from './read-body.ts';

/** What every audit event begins and ends with; the engine writes it around the stored text. */
export interface EventFrame {
  readonly head: string;
  readonly tail: string;
}

export interface PageReader {
  /** The whole body of an answer. Rejects with EngineError. `organization` is a lower-case UUID. */
  (organization: string, request: PageRequest, signal: AbortSignal): Promise<ReadBody>;
}

const lineFeed = 10;
const endOfRows = ']'.charCodeAt(0);

/**
 * Reads pages of one organization with their exact total (contract: GET audit). The count is a part of the page's
 * query, so both see the same rows: whatever arrives, merges or expires meanwhile, the last page of a walk ends at
 * the total. For a deep offset the counts come first, since they tell where to begin.
 *
 *     engine:  <total> head text tail ,\n head text tail … ]      answer:  {"data":[ head text tail … ],"meta":{…}}
 */
export function createPageReader(storage: Storage, frame: EventFrame, clock: Clock): PageReader {
  return async (organization, request, signal) => {
    const { filter, offset, limit } = request;
    const deep = await findDeepStart(storage, organization, filter, offset, signal);
    const first = { ...request, ...deep };
    const where = whereClause(organization, first.filter);
    const plan = planOf(filter);
    const query =
      `SELECT ${deep === undefined ? totalInFirstRow(where) : "''"}, ocsf ` +
      `FROM (SELECT ocsf FROM events WHERE ${where.sql} ${newestFirst} LIMIT {limit:UInt64} OFFSET {offset:UInt64}) ` +
      'FORMAT CustomSeparated';
    const rowAfter = `"logged_time":${clock()}${frame.tail}`;
    const settings = {
      ...framingSettings({ before: '', rowBefore: '', rowAfter, after: ']' }),
      format_custom_field_delimiter: frame.head,
      ...plan,
      // The default of this engine; named, so that another default cannot take it away.
      enable_shared_storage_snapshot_in_query: 1,
    };
    const parameters = { ...where.parameters, limit, offset: first.offset };

    const totalOf = async (rows: Uint8Array): Promise<number> => {
      if (rows[0] !== endOfRows) return agreedTotal(rows, request, deep?.total ?? 0);
      // Nothing from this offset on, and so no row that could have told the total.
      if (offset === 0) return 0;
      const total = deep?.total ?? (await countEvents(storage, where, plan, signal));
      return Math.min(total, offset);
    };
    const framed = (skip: number, total: number) => ({
      skip,
      before: '{"data":[',
      after: `,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`,
    });
    return readFramed(
      storage,
      query,
      parameters,
      { settings, signal },
      {
        ofWhole: async (rows) => {
          const digits = leadingDigits(rows);
          return framed(digits.length, digits === '' ? await totalOf(rows) : Number(digits));
        },
        ofStart: (rows) => {
          const digits = leadingDigits(rows);
          return framed(digits.length, digits === '' ? Math.max(deep?.total ?? 0, offset) : Number(digits));
        },
      },
    );
  };
}

const countOf = (where: Where): string => `SELECT count() AS total FROM events WHERE ${where.sql}`;

const totalInFirstRow = (where: Where): string =>
  `if(rowNumberInAllBlocks() = 0, toString((${countOf(where)})), '')`;

async function countEvents(
  storage: Storage,
  where: Where,
  settings: Settings,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await storage.rows<{ total: string }>(countOf(where), where.parameters, { signal, settings });
  return Number(row?.total ?? 0);
}

/** More than a count of events can have. */
const digitsMax = 20;

function leadingDigits(bytes: Uint8Array): string {
  return /^\d*/.exec(Buffer.from(bytes.subarray(0, digitsMax)).toString('latin1'))?.[0] ?? '';
}

/**
 * The total, told apart from the count where that was made before the page: events may arrive between them, and a
 * client that stops at `offset + data.length >= total` must neither stop early nor wait for what is not there.
 */
function agreedTotal(page: Uint8Array, { limit, offset }: PageRequest, counted: number): number {
  let rows = 1;
  for (let at = page.indexOf(lineFeed); at !== -1; at = page.indexOf(lineFeed, at + 1)) rows += 1;
  return rows === limit ? Math.max(counted, offset + rows) : offset + rows;
}
