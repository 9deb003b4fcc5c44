import { buffers } from '../base/bytes/buffer-pool.ts';
import type { Clock } from '../base/time/clock.ts';
import { eventsInOrder, onReplicas } from '../storage/replica-reads.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { between, type EventEnvelope, envelopeSettings } from './envelope.ts';
import { type Chunk, dividePages, type PageRanges } from './feed-ahead.ts';
import { type AuditFilter, type EventSchema, hasColumnFilter, type Where, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { textSlice, type Turn, whole } from './page-slices.ts';
import { byProjection, feedChunk, feedOrder, sliceOfPage, throughTexts } from './plans.ts';
import { type ReadBody, readEnveloped, readWhole } from './read-body.ts';
import { type SliceBytes, SlicedFlow } from './sliced-flow.ts';
import { readOcsf110, ocsf110Slice, type Ocsf110Reads } from './ocsf110/body.ts';
import { rowColumns } from './ocsf110/rows.ts';

const loggedTimeBytesMax = 40;
/** Events that a filtered feed reads per request before it answers. */
const feedWindowRows = 20_000;
const feedWindowsMax = 25;

/** A page: events in (after, last], and whether more follow. */
export interface Found {
  readonly after: bigint;
  readonly last: bigint;
  readonly rows: boolean;
  readonly more: boolean;
  readonly watermark: bigint;
  readonly ranges?: PageRanges;
}

/** The size is approximate. */
interface FeedPosition {
  readonly seq: bigint;
  readonly bytes: number;
}

export interface ShortPage extends Found {
  readonly where: Where;
  readonly events: readonly FeedPosition[];
}

interface FeedSlice {
  readonly after: bigint;
  readonly last: bigint;
  readonly events: number;
}

export interface PageOf {
  readonly filter: AuditFilter;
  readonly schema?: EventSchema;
}

interface LookFrom {
  readonly after: bigint;
  readonly watermark: bigint;
}

/**
 * The first events of a range: their number, `seq` of the last that fits into the page, and of the last one.
 */
interface RangeStart {
  readonly found: number;
  readonly full: bigint;
  readonly last: bigint;
}

const inRange = 'seq > {after:UInt64} AND seq < {before:UInt64}';

/** Ends of pages of `limit` events that another event follows. */
const pageEnds =
  'arrayMap(page -> s[page * {limit:UInt64}], range(1, intDiv(length(s) + {limit:UInt64} - 1, {limit:UInt64}))) AS ends';

const beforeData = '{"data":[';

/** Every method rejects with EngineError. */
export class FeedTable {
  readonly #storage: Storage;
  readonly #envelope: EventEnvelope;
  readonly #clock: Clock;
  readonly #ocsf110: Ocsf110Reads;
  readonly #retentionCutOff: (organization: string) => number | undefined;

  constructor(
    envelope: EventEnvelope,
    clock: Clock,
    ocsf110: Ocsf110Reads,
    retentionCutOff: (organization: string) => number | undefined,
  ) {
    this.#storage = ocsf110.storage;
    this.#envelope = envelope;
    this.#clock = clock;
    this.#ocsf110 = ocsf110;
    this.#retentionCutOff = retentionCutOff;
  }

  async startOf(
    organization: string,
    { fromMicros }: AuditFilter,
    watermark: bigint,
    signal: AbortSignal,
  ): Promise<bigint> {
    if (fromMicros === undefined) return 0n;
    const { sql, parameters } = whereClause(organization, { fromMicros, ...this.#kept(organization) });
    const each = `SELECT min(seq) AS seq_min, count() AS n FROM events WHERE ${sql}`;
    const found = await onReplicas(this.#storage, each, 'organization');
    const query = `SELECT minIf(seq_min, n > 0) AS first, max(n) AS events FROM (${found})`;
    const [row] = await this.#storage.readRows<{ first: string; events: string }>(query, parameters, {
      signal,
      settings: byProjection,
    });
    const first = row === undefined || row.events === '0' ? watermark : BigInt(row.first);
    return (first < watermark ? first : watermark) - 1n;
  }

  async findAll(
    organization: string,
    { limit, pages }: { readonly limit: number; readonly pages: number },
    { after, watermark }: LookFrom,
    signal: AbortSignal,
  ): Promise<PageRanges> {
    const where = whereClause(organization, {});
    const range = { after, before: watermark, limit, rows: pages * limit + 1 };
    const [row] = await this.#storage.readRows<{ found: string; ends: string[] }>(
      `SELECT length(s) AS found, ${pageEnds} FROM (${await this.#placesOf(where)})`,
      { ...where.parameters, ...range },
      { signal, settings: feedOrder },
    );
    const full = (row?.ends ?? []).map((end) => ({ last: BigInt(end), events: limit, more: true }));
    const rest = Number(row?.found ?? 0) - full.length * limit;
    if (full.length === pages || rest === 0) return { after, pages: full, watermark };
    const last = { last: watermark - 1n, events: rest, more: false };
    return { after, pages: [...full, last], watermark };
  }

  /** The next page of matching events, window by window of all events until one has a match. */
  async findMatching(
    organization: string,
    filter: AuditFilter,
    limit: number,
    { after, watermark }: LookFrom,
    signal: AbortSignal,
  ): Promise<Found> {
    const all = whereClause(organization, {});
    const matching = this.#whereOf(organization, filter);
    let from = after;
    for (let windows = 0; ; windows++) {
      const range = { after: from, before: watermark, limit, rows: feedWindowRows };
      const window = await this.#rangeStart(all, range, feedOrder, signal);
      const isLast = window.found < feedWindowRows;
      const end = isLast ? watermark - 1n : window.last;
      const inWindow = { ...range, before: end + 1n, rows: limit + 1 };
      const { found, full } =
        window.found > 0
          ? await this.#rangeStart(matching, inWindow, { ...byProjection, ...throughTexts(filter) }, signal)
          : { found: 0, full: 0n };
      const isFull = found > limit;
      if (found > 0 || isLast || windows >= feedWindowsMax) {
        const last = isFull ? full : end;
        return { after: from, last, rows: found > 0, more: isFull || !isLast, watermark };
      }
      from = end;
    }
  }

  #kept(organization: string): Pick<AuditFilter, 'cutOffMicros'> {
    return { cutOffMicros: this.#retentionCutOff(organization) };
  }

  /**
   * Pages are located with expired events, as the projection of this order lacks the time. The answer omits
   * them, so a page may be short.
   */
  #whereOf(organization: string, filter: AuditFilter): Where {
    return whereClause(organization, { ...withoutStart(filter), ...this.#kept(organization) });
  }

  /** The first `rows` of a range, as an array `s`. */
  async #placesOf({ sql }: Where): Promise<string> {
    const rows = { columns: 'seq', where: `${sql} AND ${inRange}`, limit: '{rows:UInt64}' };
    return `SELECT groupArray(seq) AS s FROM (${await eventsInOrder(this.#storage, rows)})`;
  }

  async #rangeStart(
    where: Where,
    range: { readonly after: bigint; readonly before: bigint; readonly limit: number; readonly rows: number },
    settings: Settings,
    signal: AbortSignal,
  ): Promise<RangeStart> {
    const query = `SELECT length(s) AS found, s[{limit:UInt64}] AS full, s[-1] AS last FROM (${await this.#placesOf(where)})`;
    const [row] = await this.#storage.readRows<Record<keyof RangeStart, string>>(
      query,
      { ...where.parameters, ...range },
      { signal, settings },
    );
    return { found: Number(row?.found ?? 0), full: BigInt(row?.full ?? 0), last: BigInt(row?.last ?? 0) };
  }

  async shorten(
    organization: string,
    { filter, schema }: PageOf,
    found: Found,
    signal: AbortSignal,
  ): Promise<ShortPage> {
    const where = this.#whereOf(organization, filter);
    const { after, last } = found;
    const columns = `seq, length(${schema === 'ocsf' ? 'source' : 'ocsf'}) AS bytes`;
    const rows = await this.#storage.readRows<{ seq: string; bytes: string }>(
      await this.#rowsOf(where, columns),
      { ...where.parameters, after, before: last + 1n },
      { signal, settings: { ...byProjection, ...throughTexts(filter) } },
    );
    const aroundEvent = this.#envelope.head.length + this.#envelope.tail.length + loggedTimeBytesMax;
    const positions: FeedPosition[] = [];
    let bytes = 0;
    for (const row of rows) {
      const position = { seq: BigInt(row.seq), bytes: Number(row.bytes) + aroundEvent };
      bytes += position.bytes;
      if (bytes > limits.feedPageBytesMax && positions.length > 0) break;
      positions.push(position);
    }
    const end = positions.at(-1);
    if (end === undefined || positions.length === rows.length) return { ...found, where, events: positions };
    return { ...found, where, last: end.seq, more: true, events: positions };
  }

  async readPage(
    organization: string,
    { filter, schema }: PageOf,
    found: Found,
    meta: string,
    signal: AbortSignal,
  ): Promise<SliceBytes | undefined> {
    const where = this.#whereOf(organization, filter);
    if (schema === 'ocsf') return this.#readOcsf110Page(organization, where, found, meta, signal);
    const { query, parameters, settings } = await this.#dataQuery(where, found);
    const around = () => ({ skip: 0, before: beforeData, after: `]${meta}` });
    return readEnveloped(this.#storage, query, parameters, { settings, signal }, around);
  }

  async #readOcsf110Page(
    organization: string,
    where: Where,
    found: Found,
    meta: string,
    signal: AbortSignal,
  ): Promise<SliceBytes | undefined> {
    const { query, parameters } = await this.#ocsf110Query(where, found);
    const text = `]${meta}`;
    const tail = { of: () => text, ofNone: () => text };
    const read = [query, parameters, { settings: byProjection, signal }] as const;
    return readOcsf110(this.#ocsf110, organization, read, beforeData, tail);
  }

  readShort(
    organization: string,
    schema: EventSchema | undefined,
    page: ShortPage,
    meta: string,
    turn: Turn,
  ): SlicedFlow<FeedSlice> {
    const { where } = page;
    const readSlice = async (slice: FeedSlice, signal: AbortSignal): Promise<SliceBytes> => {
      const of = await (schema === 'ocsf' ? this.#ocsf110Query(where, slice) : this.#dataQuery(where, slice));
      const settings = { ...of.settings, ...sliceOfPage };
      const rows = await this.#storage.bytes(of.query, of.parameters, { signal, settings, ...whole });
      if (!('release' in rows)) throw new Error('An unbounded result was not buffered');
      if (schema !== 'ocsf') return textSlice(rows, slice.events);
      return ocsf110Slice(this.#ocsf110.pool, organization, rows, slice.events);
    };
    const inTurn = (slice: FeedSlice, signal: AbortSignal): Promise<SliceBytes> =>
      turn(organization, (aborting) => readSlice(slice, aborting), signal);
    const around = { before: beforeData, between, after: `]${meta}` };
    return new SlicedFlow([...slicesOf(page)], inTurn, around);
  }

  async readChunk(organization: string, found: PageRanges, signal: AbortSignal): Promise<Chunk | undefined> {
    const where = this.#whereOf(organization, {});
    const { after, pages } = found;
    const last = pages.at(-1)?.last ?? after;
    const { query, parameters, settings } = await this.#dataQuery(where, { after, last });
    const holding = { ...whole, signal, settings: { ...settings, ...feedChunk } };
    const bytesMax = limits.pageBufferedBytesMax;
    const rows = await readWhole(this.#storage, query, parameters, { ...holding, bytesMax });
    if (rows === undefined) return undefined;
    const chunk = dividePages(rows, found);
    if (chunk === undefined) rows.release();
    return chunk;
  }

  async #dataQuery(where: Where, { after, last }: Pick<Found, 'after' | 'last'>) {
    const delimiters = envelopeSettings({
      before: '',
      rowBefore: this.#envelope.head,
      rowAfter: `"logged_time":${this.#clock()}${this.#envelope.tail}`,
      after: '',
    });
    return {
      query: `${await this.#rowsOf(where, 'ocsf')} FORMAT CustomSeparated`,
      parameters: { ...where.parameters, after, before: last + 1n },
      settings: { ...delimiters, ...byProjection },
    };
  }

  async #ocsf110Query(where: Where, { after, last }: Pick<Found, 'after' | 'last'>) {
    return {
      query: `${await this.#rowsOf(where, rowColumns('0'))} FORMAT RowBinary`,
      parameters: { ...where.parameters, after, before: last + 1n },
      settings: byProjection,
    };
  }

  #rowsOf({ sql }: Where, columns: string): Promise<string> {
    return eventsInOrder(this.#storage, { columns, where: `${sql} AND ${inRange}` });
  }
}

function* slicesOf({ after, events }: ShortPage): Generator<FeedSlice> {
  let slice = { after, last: after, events: 0 };
  let bytes = 0;
  for (const position of events) {
    if (slice.events > 0 && bytes + position.bytes > limits.pageSliceBytes) {
      yield slice;
      slice = { after: slice.last, last: slice.last, events: 0 };
      bytes = 0;
    }
    slice = { ...slice, last: position.seq, events: slice.events + 1 };
    bytes += position.bytes;
  }
  if (slice.events > 0) yield slice;
}

/** Whether the filter leaves out events; `startTime` and retention do not (`withoutStart`). */
export function isFiltered(filter: AuditFilter): boolean {
  return filter.nothing === true || hasColumnFilter(filter) || filter.toMicros !== undefined;
}

/**
 * `startTime` is a position in the order, not a filter: a later event with an earlier time must not be
 * missed.
 */
function withoutStart(filter: AuditFilter): AuditFilter {
  const rest: { -readonly [K in keyof AuditFilter]: AuditFilter[K] } = { ...filter };
  delete rest.fromMicros;
  return rest;
}

export function feedBody(events: Uint8Array, meta: string): ReadBody {
  const lease = buffers.take(beforeData.length + events.length + meta.length + 1);
  const bytes = Buffer.from(lease.memory);
  const start = bytes.write(beforeData, 'latin1');
  bytes.set(events, start);
  const end = start + events.length;
  const length = end + bytes.write(`]${meta}`, end, 'latin1');
  return { bytes: bytes.subarray(0, length), release: () => lease.release() };
}
