import type { Clock } from '../base/clock.ts';
import { onShard } from '../storage/on-shard.ts';
import type { HeldBytes, Parameters, QueryOptions, Storage } from '../storage/storage.ts';
import { between, type EventEnvelope, envelopeSettings } from './envelope.ts';
import { type AuditFilter, hasColumnFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { NewestSpans, sinceFloor } from './newest-span.ts';
import { type PageStart, pageStart } from './offset-index.ts';
import { newestFirst, planOf } from './plans.ts';
import { atOnce, readSliced, textSlice, type Turn } from './page-slices.ts';
import { type BodyEnvelope, type ReadBody, readEnveloped } from './read-body.ts';
import { readOcsf110, ocsf110Slice, type Ocsf110Reads } from './ocsf110/body.ts';
import { rowColumns } from './ocsf110/rows.ts';

/** The whole body of an answer. Rejects with EngineError. `organization` is a lower-case UUID. */
export type PageReader = (
  organization: string,
  request: PageRequest,
  signal: AbortSignal,
) => Promise<ReadBody>;

const endOfRows = ']'.charCodeAt(0);

/** Of all events the table keeps counts. They are named: to look for the best projection takes a third of the time. */
const countOf = ({ sql }: Where, filter: AuditFilter): string =>
  `SELECT count() FROM events WHERE ${sql}` +
  (hasColumnFilter(filter) ? '' : " SETTINGS preferred_optimize_projection_name = 'counts'");

/**
 * Reads pages of one organization with their exact total (contract: GET audit). The count is a part of the page's
 * query, so both see the same rows: whatever arrives, merges or expires meanwhile, the last page of a walk ends at
 * the total.
 *
 *     engine:  <total> head text tail ,\n head text tail … ]     answer:  {"data":[ head text tail … ],"meta":{…}}
 */
export function createPageReader(
  storage: Storage,
  envelope: EventEnvelope,
  clock: Clock,
  turn: Turn = atOnce,
): PageReader {
  const spans = new NewestSpans();
  return async (organization, request, signal) => {
    const { filter, offset, limit } = request;
    const where = whereClause(organization, filter);
    const plan = { ...planOf(filter), ...oneSnapshot };
    const now = clock();
    const texts = { rowBefore: '', rowAfter: `"logged_time":${now}${envelope.tail}` };
    const settings = {
      ...envelopeSettings({ before: '', ...texts, after: ']' }),
      format_custom_field_delimiter: envelope.head,
      ...plan,
    };
    const floor = spans.floor(organization, request, now);
    const start = startOf(request, where, floor);
    const parameters = { ...where.parameters, limit, offset, ...(floor === undefined ? {} : { floor }) };
    const ofNone = () => totalOfNone(storage, request, start, parameters, { signal, settings: plan });
    const around = async (rows: Uint8Array): Promise<BodyEnvelope> => {
      // Nothing from this offset on, and so no row that could have told the total.
      if (rows[0] === endOfRows) return { skip: 0, before, after: metaText(await ofNone(), request) };
      const oldest = oldestOf(rows, envelope, request);
      if (oldest !== undefined) spans.seen(organization, request, { oldest, now });
      const digits = leadingDigits(rows);
      return { skip: digits.length, before, after: metaText(Number(digits), request) };
    };
    const query = `${onShard(storage, pageQuery(where, start))} FORMAT CustomSeparated`;
    const whole = await readEnveloped(storage, query, parameters, { settings, signal }, around);
    if (whole !== undefined) return whole;
    const page = {
      organization,
      where: where.sql,
      start,
      parameters,
      options: { settings: plan, signal },
      columns: 'ocsf',
      bytes: 'length(ocsf)',
      format: 'CustomSeparated',
      settings: envelopeSettings({ before: '', ...texts, rowBefore: envelope.head, after: '' }),
      around: async (total: number | undefined) => ({
        before,
        between,
        after: `]${metaText(total ?? (await ofNone()), request)}`,
      }),
      render: textSlice,
    };
    return { flow: await readSliced(storage, page, turn) };
  };
}

const before = '{"data":[';

function metaText(total: number, { limit, offset }: PageRequest): string {
  return `,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`;
}

/** The default of this engine; named, so that another default cannot take it away. */
const oneSnapshot = { enable_shared_storage_snapshot_in_query: 1 };

/**
 * The same pages as events of OCSF 1.1.0: the same rows, which are mapped from their source events here (contract:
 * OCSF 1.1.0).
 */
export function createOcsf110PageReader(reads: Ocsf110Reads, turn: Turn = atOnce): PageReader {
  const { storage } = reads;
  return async (organization, request, signal) => {
    const { filter, offset, limit } = request;
    const where = whereClause(organization, filter);
    const settings = { ...planOf(filter), ...oneSnapshot };
    const start = startOf(request, where);
    const parameters = { ...where.parameters, limit, offset };
    const tailOf = (total: number): string => `]${metaText(total, request)}`;
    const ofNone = async () =>
      tailOf(await totalOfNone(storage, request, start, parameters, { signal, settings }));
    const { scalars, condition, skip, total } = start;
    const rows =
      `SELECT ${rowColumns('counted')} FROM (${scalars} SELECT ${total} AS counted, seq, time, source FROM events ` +
      `WHERE ${where.sql} AND ${condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${skip})`;
    const query = `${onShard(storage, rows)} FORMAT RowBinary`;
    const read = [query, parameters, { settings, signal }] as const;
    const whole = await readOcsf110(reads, organization, read, before, { of: tailOf, ofNone });
    if (whole !== undefined) return whole;
    const page = {
      organization,
      where: where.sql,
      start,
      parameters,
      options: { settings, signal },
      columns: rowColumns('0'),
      bytes: 'length(source)',
      format: 'RowBinary',
      settings: {},
      around: async (found: number | undefined) => ({
        before,
        between,
        after: found === undefined ? await ofNone() : tailOf(found),
      }),
      render: (held: HeldBytes, count: number) => ocsf110Slice(reads.pool, organization, held, count),
    };
    return { flow: await readSliced(storage, page, turn) };
  };
}

/** The total where no row tells it: nothing is from this offset on. */
async function totalOfNone(
  storage: Storage,
  { offset }: PageRequest,
  { scalars, total }: PageStart,
  parameters: Parameters,
  options: QueryOptions,
): Promise<number> {
  if (offset === 0) return 0;
  const [row] = await storage.rows<{ total: string }>(
    onShard(storage, `${scalars} SELECT ${total} AS total`),
    parameters,
    options,
  );
  return Math.min(Number(row?.total ?? 0), offset);
}

function startOf(request: PageRequest, where: Where, floor?: number): PageStart {
  const total = `(${countOf(where, request.filter)})`;
  if (floor !== undefined) return sinceFloor(where, total);
  const found = isSoonFound(request) ? undefined : pageStart(request.filter, where);
  return found ?? { scalars: '', condition: '1', skip: '{offset:UInt64}', total };
}

/** Where only the time decides, to skip the few events before the page costs less than to look for it. */
function isSoonFound({ filter, offset }: PageRequest): boolean {
  return offset < limits.deepOffsetMin && !hasColumnFilter(filter);
}

/** The page as rows of two columns: the total in the first row and nothing in the others, and the event's text. */
function pageQuery({ sql }: Where, { scalars, condition, skip, total }: PageStart): string {
  return (
    `SELECT if(rowNumberInAllBlocks() = 0, counted, '') AS total, ocsf FROM (${scalars} SELECT toString(${total}) AS counted, ` +
    `ocsf FROM events WHERE ${sql} AND ${condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${skip})`
  );
}

const lineFeed = '\n'.charCodeAt(0);
/** As long as `"time":` with any number. */
const timeBytesMax = 32;

/** More than a count of events can have. */
const digitsMax = 24;

/** The total, which the first row begins with. */
function leadingDigits(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, digitsMax)).toString('latin1');
  return /^\d*/.exec(text)?.[0] ?? '';
}

/** The time (Unix microseconds) of a full page's last row; undefined where it is not full, or of one row. */
function oldestOf(
  rows: Uint8Array,
  { head }: EventEnvelope,
  { offset, limit }: PageRequest,
): number | undefined {
  const begin = rows.lastIndexOf(lineFeed) + 1;
  if (begin === 0 || Number(leadingDigits(rows)) < offset + limit) return undefined;
  const from = begin + Buffer.byteLength(head);
  const text = Buffer.from(rows.subarray(from, from + timeBytesMax)).toString('latin1');
  const digits = /^"time":(\d+),/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
