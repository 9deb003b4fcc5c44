import type { Clock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { type AuditFilter, hasColumnFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { deepStart } from './offset-index.ts';
import { newestFirst, planOf } from './plans.ts';
import { type BodyEnvelope, type ReadBody, readEnveloped } from './read-body.ts';

/** The whole body of an answer. Rejects with EngineError. `organization` is a lower-case UUID. */
export type PageReader = (
  organization: string,
  request: PageRequest,
  signal: AbortSignal,
) => Promise<ReadBody>;

const endOfRows = ']'.charCodeAt(0);

const countOf = ({ sql }: Where): string => `SELECT count() AS total FROM events WHERE ${sql}`;

/**
 * Reads pages of one organization with their exact total (contract: GET audit). The count is a part of the page's
 * query, so both see the same rows: whatever arrives, merges or expires meanwhile, the last page of a walk ends at
 * the total.
 *
 *     engine:  <counts> head text tail ,\n head text tail … ]     answer:  {"data":[ head text tail … ],"meta":{…}}
 */
export function createPageReader(storage: Storage, envelope: EventEnvelope, clock: Clock): PageReader {
  const denseHours = new DenseHours();
  return (organization, request, signal) => {
    const { filter, offset, limit } = request;
    const where = whereClause(organization, filter);
    const plan = planOf(filter);
    const settings = {
      ...envelopeSettings({
        before: '',
        rowBefore: '',
        rowAfter: `"logged_time":${clock()}${envelope.tail}`,
        after: ']',
      }),
      format_custom_field_delimiter: envelope.head,
      ...plan,
      // The default of this engine; named, so that another default cannot take it away.
      enable_shared_storage_snapshot_in_query: 1,
    };
    const envelopeFor = (total: number, skip: number): BodyEnvelope => ({
      skip,
      before: '{"data":[',
      after: `,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`,
    });
    const ofStart = (rows: Uint8Array): BodyEnvelope => {
      const { digits, total, skipped } = leadingCounts(rows);
      if (skipped !== undefined) denseHours.note(organization, skipped);
      return envelopeFor(total, digits);
    };
    const ofWhole = async (rows: Uint8Array): Promise<BodyEnvelope> => {
      if (rows[0] !== endOfRows) return ofStart(rows);
      // Nothing from this offset on, and so no row that could have told the total.
      if (offset === 0) return envelopeFor(0, 0);
      const options = { signal, settings: plan };
      const [row] = await storage.rows<{ total: string }>(countOf(where), where.parameters, options);
      return envelopeFor(Math.min(Number(row?.total ?? 0), offset), 0);
    };
    const query = isDeep(request)
      ? deepQuery(filter, where, denseHours.has(organization))
      : pageQuery({
          scalars: '',
          counts: `toString((${countOf(where)}))`,
          condition: where.sql,
          skip: '{offset:UInt64}',
        });
    const parameters = { ...where.parameters, limit, offset };
    return readEnveloped(storage, query, parameters, { settings, signal }, { ofWhole, ofStart });
  };
}

/** Below, or where more than the time decides, to skip the events before the page costs less than to look for it. */
function isDeep({ filter, offset }: PageRequest): boolean {
  return offset >= limits.deepOffsetMin && !hasColumnFilter(filter) && !filter.nothing;
}

function deepQuery(filter: AuditFilter, where: Where, bySecond: boolean): string {
  const { scalars, condition, skip, total, skippedOfHour } = deepStart(filter, where, bySecond);
  const counts = `concat(toString(${total}), ' ', toString(${skippedOfHour}))`;
  return pageQuery({ scalars, counts, condition: `${where.sql} AND ${condition}`, skip });
}

/** The page as rows of two columns: `counts` in the first row and nothing in the others, and the event's text. */
function pageQuery(parts: Readonly<Record<'scalars' | 'counts' | 'condition' | 'skip', string>>): string {
  const { scalars, counts, condition, skip } = parts;
  return (
    `SELECT if(rowNumberInAllBlocks() = 0, counts, ''), ocsf FROM (${scalars} SELECT ${counts} AS counts, ocsf ` +
    `FROM events WHERE ${condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${skip}) FORMAT CustomSeparated`
  );
}

/** More than two counts of events can have. */
const digitsMax = 48;

/** Of the first row: the total and, of a deep page, how many events of its hour come before it. */
function leadingCounts(bytes: Uint8Array): { digits: number; total: number; skipped: number | undefined } {
  const text = Buffer.from(bytes.subarray(0, digitsMax)).toString('latin1');
  const [digits = '', total, skipped] = /^(\d+)(?: (\d+))?/.exec(text) ?? [];
  return {
    digits: digits.length,
    total: Number(total),
    skipped: skipped === undefined ? undefined : Number(skipped),
  };
}

/**
 * Organizations whose last deep page was far behind the begin of its hour: there the next one is found faster by
 * seconds. It is a hint: without it a page takes longer, and is the same.
 */
class DenseHours {
  readonly #organizations = new Set<string>();

  has(organization: string): boolean {
    return this.#organizations.has(organization);
  }

  note(organization: string, skippedOfHour: number): void {
    this.#organizations.delete(organization);
    if (skippedOfHour <= limits.deepSkipEventsMax) return;
    this.#organizations.add(organization);
    const [oldest] = this.#organizations;
    if (oldest !== undefined && this.#organizations.size > limits.denseOrganizationsMax)
      this.#organizations.delete(oldest);
  }
}
