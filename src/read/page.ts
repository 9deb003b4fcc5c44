import type { Clock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { EngineError } from '../base/engine-error.ts';
import type { Storage } from '../storage/storage.ts';
import { countEvents, countOf } from './count.ts';
import { hasColumnFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { createLandmarks, type Place, type VersionOf } from './landmarks.ts';
import { newestFirst, planOf } from './plans.ts';
import { type ReadBody, readEnveloped } from './read-body.ts';

export interface PageReader {
  /** The whole body of an answer. Rejects with EngineError. `organization` is a lower-case UUID. */
  (organization: string, request: PageRequest, signal: AbortSignal): Promise<ReadBody>;
}

const endOfRows = ']'.charCodeAt(0);

/** The page's own count shows that it began at the wrong place. */
class Misplaced extends Error {}

/** So many wrong places, and a page is read the plain way. */
const placesMax = 3;

/**
 * Reads pages of one organization with their exact total (contract: GET audit). The count is a part of the page's
 * query, so both see the same rows: whatever arrives, merges or expires meanwhile, the last page of a walk ends at
 * the total. A deep offset is reached from a landmark, whose place the same query proves.
 *
 *     engine:  <total> head text tail ,\n head text tail … ]      answer:  {"data":[ head text tail … ],"meta":{…}}
 */
export function createPageReader(
  storage: Storage,
  envelope: EventEnvelope,
  clock: Clock,
  versionOf: VersionOf,
): PageReader {
  const landmarks = createLandmarks(storage, versionOf);

  async function readAt(
    organization: string,
    request: PageRequest,
    place: Place | undefined,
    signal: AbortSignal,
  ): Promise<ReadBody> {
    const { filter, offset, limit } = request;
    const where = whereClause(organization, filter);
    const plan = planOf(filter);
    const rowAfter = `"logged_time":${clock()}${envelope.tail}`;
    const settings = {
      ...envelopeSettings({ before: '', rowBefore: '', rowAfter, after: ']' }),
      format_custom_field_delimiter: envelope.head,
      ...plan,
      // The default of this engine; named, so that another default cannot take it away.
      enable_shared_storage_snapshot_in_query: 1,
    };
    const parameters = { ...where.parameters, limit, offset, ...placeParameters(place, offset) };

    const learn = async (at: Place, counted: { newer: number; total: number }): Promise<void> => {
      try {
        await landmarks.learn(organization, filter, at, counted, signal);
      } catch (error) {
        // The page is right without: the next one counts again.
        if (!(error instanceof EngineError)) throw error;
        landmarks.forget(organization);
      }
    };
    const proven = async (counts: Counts): Promise<Counts> => {
      const { total, newer } = counts;
      if (place === undefined) return counts;
      if (newer !== undefined) {
        await learn(place, { newer, total });
        if (isNear(place, newer, offset)) return counts;
      } else if (total === place.exact?.all) return { ...counts, total: place.exact.total };
      else landmarks.forget(organization);
      throw new Misplaced();
    };
    const countsOf = async (rows: Uint8Array): Promise<Counts> => {
      if (rows[0] !== endOfRows) return proven(leadingCounts(rows));
      // Nothing from this offset on, and so no row that could have told the total.
      const total = offset === 0 ? 0 : await countEvents(storage, where, plan, signal);
      if (place !== undefined && total > offset) {
        landmarks.forget(organization);
        throw new Misplaced();
      }
      return { digits: 0, total: Math.min(total, offset), newer: undefined };
    };
    const envelopeOf = ({ digits, total }: Counts) => ({
      skip: digits,
      before: '{"data":[',
      after: `,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`,
    });
    return readEnveloped(
      storage,
      pageQuery(where, whereClause(organization, {}), place),
      parameters,
      { settings, signal },
      {
        ofWhole: async (rows) => envelopeOf(await countsOf(rows)),
        // A page at the wrong place holds one row: what is so large is proven.
        ofStart(rows) {
          const counts = leadingCounts(rows);
          return envelopeOf({ ...counts, total: place?.exact?.total ?? counts.total });
        },
      },
    );
  }

  return async (organization, request, signal) => {
    const { filter, offset } = request;
    const isDeep = offset >= limits.deepOffsetMin && !hasColumnFilter(filter) && !filter.nothing;
    for (let tries = isDeep ? 0 : placesMax; ; tries++) {
      if (tries === placesMax - 1) landmarks.forget(organization);
      const place =
        tries < placesMax ? await landmarks.near(organization, filter, offset, signal) : undefined;
      try {
        return await readAt(organization, request, place, signal);
      } catch (error) {
        if (!(error instanceof Misplaced)) throw error;
      }
    }
  };
}

const micros = (name: string): string => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`;

/** First row: the count that proves the place, or the total and, if there is a place, what is newer than it. */
function pageQuery(where: Where, whole: Where, place: Place | undefined): string {
  const total = `(${countOf(where)})`;
  const newer = `(${countOf(where)} AND time > ${micros('place')})`;
  const page = (condition: string, limit: string, offset: string) =>
    `FROM (SELECT ocsf FROM events WHERE ${condition} ${newestFirst} LIMIT ${limit} OFFSET ${offset}) ` +
    'FORMAT CustomSeparated';
  const first = (counts: string) => `SELECT if(rowNumberInAllBlocks() = 0, ${counts}, ''), ocsf `;
  if (place === undefined) {
    return first(`toString(${total})`) + page(where.sql, '{limit:UInt64}', '{offset:UInt64}');
  }
  const fromPlace = `${where.sql} AND time <= ${micros('place')}`;
  if (place.exact !== undefined) {
    const all = `(${countOf(whole)})`;
    const limit = `if(${all} = {all:UInt64}, {limit:UInt64}, 1)`;
    return first(`toString(${all})`) + page(fromPlace, limit, '{skip:UInt64}');
  }
  const holds = `${newer} <= {offset:UInt64} AND ${newer} >= {newer_min:UInt64}`;
  const limit = `if(${holds}, {limit:UInt64}, 1)`;
  const skip = `toUInt64(if(${holds}, {offset:UInt64} - ${newer}, 0))`;
  return first(`concat(toString(${total}), ' ', toString(${newer}))`) + page(fromPlace, limit, skip);
}

/** Fewer events before the place than this, and it is too far from the offset. */
function newerMin({ newer }: Place): number {
  return Math.max(0, newer - limits.landmarkMissEventsMax);
}

function isNear(place: Place, newer: number, offset: number): boolean {
  return newer <= offset && newer >= newerMin(place);
}

function placeParameters(place: Place | undefined, offset: number): Record<string, number> {
  if (place === undefined) return {};
  const { micros: at, newer, exact } = place;
  if (exact !== undefined) return { place: at, all: exact.all, skip: offset - newer };
  return { place: at, newer_min: newerMin(place) };
}

interface Counts {
  /** Bytes that they take. */
  readonly digits: number;
  readonly total: number;
  readonly newer: number | undefined;
}

/** More than two counts of events can have. */
const digitsMax = 48;

function leadingCounts(bytes: Uint8Array): Counts {
  const text = Buffer.from(bytes.subarray(0, digitsMax)).toString('latin1');
  const [digits = '', total, newer] = /^(\d+)(?: (\d+))?/.exec(text) ?? [];
  return {
    digits: digits.length,
    total: Number(total),
    newer: newer === undefined ? undefined : Number(newer),
  };
}
