import type { Clock } from '../base/time/clock.ts';
import { onShard } from '../storage/cluster.ts';
import type { HeldBytes, Storage } from '../storage/storage.ts';
import { between, type EventEnvelope, envelopeSettings } from './envelope.ts';
import type { PageRequest, Where } from './filter.ts';
import { NewestSpans } from './newest-span.ts';
import type { PageStart } from './offset-index.ts';
import { type PagePlace, locatePage, readSlices } from './page-place.ts';
import { newestFirst } from './plans.ts';
import { atOnce, readSliced, textSlice, type Turn } from './page-slices.ts';
import { type BodyEnvelope, type ReadBody, readEnveloped } from './read-body.ts';
import { readOcsf110, ocsf110Slice, type Ocsf110Reads } from './ocsf110/body.ts';
import { rowColumns } from './ocsf110/rows.ts';

export type PageBody = ReadBody & Pick<PageMeta, 'total' | 'searchedBackTo'>;

/** Rejects with EngineError. `organization` is a lower-case UUID. */
export type PageReader = (
  organization: string,
  request: PageRequest,
  signal: AbortSignal,
) => Promise<PageBody>;

const endOfRows = ']'.charCodeAt(0);

/**
 * Reads pages of one organization with their exact total (contract: GET audit). Count and page are one query
 * on one snapshot, so the last page of a walk ends at the total:
 *
 *     engine:  <total> head text tail ,\n head text tail … ]
 *     answer:  {"data":[ head text tail … ],"meta":{…}}
 */
export function createPageReader(
  storage: Storage,
  envelope: EventEnvelope,
  clock: Clock,
  turn: Turn = atOnce,
): PageReader {
  const spans = new NewestSpans();
  return async (organization, request, signal) => {
    const now = clock();
    const floor = spans.floor(organization, request, now);
    const place = await locatePage(storage, organization, request, signal, floor);
    const { where, start, parameters, settings: plan } = place;
    const texts = { rowBefore: '', rowAfter: `"logged_time":${now}${envelope.tail}` };
    const settings = {
      ...envelopeSettings({ before: '', ...texts, after: ']' }),
      format_custom_field_delimiter: envelope.head,
      ...plan,
    };
    const meta = new PageMeta(request, place.searchedBackTo);
    const ofNone = () => totalOfNone(storage, request, place, signal);
    const around = async (rows: Uint8Array): Promise<BodyEnvelope> => {
      if (rows[0] === endOfRows) return { skip: 0, before, after: meta.text(await ofNone()) };
      const oldest = oldestOf(rows, envelope, request);
      if (oldest !== undefined) spans.seen(organization, request, { oldest, now });
      const digits = leadingDigits(rows);
      return { skip: digits.length, before, after: meta.text(Number(digits)) };
    };
    const query = `${onShard(storage, pageQuery(where, start))} FORMAT CustomSeparated`;
    const whole = await readEnveloped(storage, query, parameters, { settings, signal }, around);
    if (whole !== undefined) return { ...whole, ...meta.facts() };
    const page = {
      ...readSlices(organization, place, signal),
      columns: 'ocsf',
      bytes: 'length(ocsf)',
      format: 'CustomSeparated',
      settings: envelopeSettings({ before: '', ...texts, rowBefore: envelope.head, after: '' }),
      around: async (total: number | undefined) => {
        const after = `]${meta.text(total ?? (await ofNone()))}`;
        return { before, between, after };
      },
      render: textSlice,
    };
    const flow = await readSliced(storage, page, turn);
    return { flow, ...meta.facts() };
  };
}

const before = '{"data":[';

class PageMeta {
  readonly #request: PageRequest;
  readonly searchedBackTo: string | undefined;
  total = 0;

  constructor(request: PageRequest, searchedBackTo: string | undefined) {
    this.#request = request;
    this.searchedBackTo = searchedBackTo;
  }

  text(total: number): string {
    const { limit, offset } = this.#request;
    this.total = total;
    const searched = this.searchedBackTo === undefined ? '' : `,"searched_back_to":"${this.searchedBackTo}"`;
    return `,"meta":{"total":${total},"limit":${limit},"offset":${offset}${searched}}}\n`;
  }

  facts(): Pick<PageMeta, 'total' | 'searchedBackTo'> {
    return { total: this.total, searchedBackTo: this.searchedBackTo };
  }
}

/** Maps them here from their source events (contract: OCSF 1.1.0). */
export function createOcsf110PageReader(reads: Ocsf110Reads, turn: Turn = atOnce): PageReader {
  const { storage } = reads;
  return async (organization, request, signal) => {
    const place = await locatePage(storage, organization, request, signal);
    const { where, start, parameters, settings } = place;
    const meta = new PageMeta(request, place.searchedBackTo);
    const tailOf = (total: number): string => `]${meta.text(total)}`;
    const ofNone = async () => tailOf(await totalOfNone(storage, request, place, signal));
    const { scalars, condition, skip, total } = start;
    const rows =
      `SELECT ${rowColumns('counted')} FROM (${scalars} SELECT ${total} AS counted, seq, time, source FROM events ` +
      `WHERE ${where.sql} AND ${condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${skip})`;
    const query = `${onShard(storage, rows)} FORMAT RowBinary`;
    const read = [query, parameters, { settings, signal }] as const;
    const whole = await readOcsf110(reads, organization, read, before, { of: tailOf, ofNone });
    if (whole !== undefined) return { ...whole, ...meta.facts() };
    const page = {
      ...readSlices(organization, place, signal),
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
    const flow = await readSliced(storage, page, turn);
    return { flow, ...meta.facts() };
  };
}

async function totalOfNone(
  storage: Storage,
  { offset }: PageRequest,
  { start: { scalars, total }, parameters, settings }: PagePlace,
  signal: AbortSignal,
): Promise<number> {
  if (offset === 0) return 0;
  const [row] = await storage.rows<{ total: string }>(
    onShard(storage, `${scalars} SELECT ${total} AS total`),
    parameters,
    { settings, signal },
  );
  return Math.min(Number(row?.total ?? 0), offset);
}

function pageQuery({ sql }: Where, { scalars, condition, skip, total }: PageStart): string {
  return (
    `SELECT if(rowNumberInAllBlocks() = 0, counted, '') AS total, ocsf FROM (${scalars} SELECT toString(${total}) AS counted, ` +
    `ocsf FROM events WHERE ${sql} AND ${condition} ${newestFirst} LIMIT {limit:UInt64} OFFSET ${skip})`
  );
}

const lineFeed = '\n'.charCodeAt(0);
const timeBytesMax = 32;

const digitsMax = 24;

function leadingDigits(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, digitsMax)).toString('latin1');
  return /^\d*/.exec(text)?.[0] ?? '';
}

/** Time (Unix microseconds) of the last row; undefined unless the page is full and has several rows. */
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
