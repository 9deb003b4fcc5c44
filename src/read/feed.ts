import { setTimeout as sleep } from 'node:timers/promises';
import { buffers } from '../base/buffer-pool.ts';
import { limits } from './limits.ts';
import { FifoMap } from '../base/fifo-map.ts';
import { Problem } from '../base/problem.ts';
import type { Clock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import type { FairQueue } from '../base/fair-queue.ts';
import { inTurn } from './fair-queue.ts';
import { type Chunk, linesOf, ReadAhead, type ReadChunk } from './feed-ahead.ts';
import type { FeedCursors } from './feed-cursor.ts';
import {
  type AuditFilter,
  hasColumnFilter,
  type OrganizationNames,
  type QueryParameter,
  readFilter,
  readLimit,
  type Where,
  whereClause,
} from './filter.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { feedOrder, feedPage } from './plans.ts';
import { type ReadBody, readEnveloped } from './read-body.ts';

export interface FeedRequest {
  readonly filter: AuditFilter;
  /** Empty: from `startTime` on, or from the beginning. */
  readonly cursor: string;
  readonly limit: number;
  readonly waitSeconds: number;
}

export interface FeedReader {
  /**
   * The whole body of an answer. Rejects with EngineError, or with a Problem for a bad cursor or too many that wait.
   * `organization` is a lower-case UUID.
   */
  (organization: string, request: FeedRequest, signal: AbortSignal): Promise<ReadBody>;
}

export interface FeedOptions {
  readonly storage: Storage;
  readonly envelope: EventEnvelope;
  readonly clock: Clock;
  readonly cursors: FeedCursors;
  /** First `seq` that is not settled: no event of the organization below it can come any more. */
  settledBefore(organization: string): Promise<bigint>;
  /** The same number for as long as no other process has written; undefined when that cannot be told. */
  peersVersion(): Promise<number | undefined>;
  /**
   * A place before which all events of the organization are that this process took, or others by the time of their
   * stamp; undefined while it takes some, or when that cannot be told.
   */
  arrivedBefore(organization: string): bigint | undefined;
  /** Each look at the table waits here for its turn; a poll that only waits holds none. */
  readonly queue: FairQueue;
  /** Ends waiting polls: the server stops. */
  readonly stopping: AbortSignal;
}

/** The request that query parameters describe (contract: Read, feed); all but the cursor are read leniently. */
export function readFeedRequest(parameter: QueryParameter, organization: OrganizationNames): FeedRequest {
  const wait = parameter('wait') ?? '';
  return {
    filter: readFilter(parameter, organization),
    cursor: parameter('cursor') ?? '',
    limit: readLimit(parameter('limit'), limits.pageLimitDefault, limits.feedLimitMax),
    waitSeconds: /^\d+$/.test(wait) ? Math.min(Number(wait), limits.feedWaitSecondsMax) : 0,
  };
}

/** What one look at the table found: events in (after, last], and whether there is more behind them. */
interface Found {
  readonly after: bigint;
  readonly last: bigint;
  readonly rows: boolean;
  readonly more: boolean;
  readonly settledBefore: bigint;
}

/**
 * Reads events in the order of ingest. Only what has settled is handed out: segments reach the table out of order,
 * and a follower that had been given a later one would never see the earlier. The place in the order is taken before
 * the table is looked at, so everything below it is there.
 */
export function createFeedReader(options: FeedOptions): FeedReader {
  const feed = new Feed(options);
  return (organization, request, signal) => feed.read(organization, request, signal);
}

class Feed {
  readonly #options: FeedOptions;
  readonly #waiting = createWaiting();
  readonly #empty: EmptyStretches;
  readonly #ahead: ReadAhead;
  /** The parts of an answer that ask the engine, each in its turn. */
  readonly #look: (
    organization: string,
    request: FeedRequest,
    from: bigint | undefined,
    signal: AbortSignal,
  ) => Promise<Found>;
  readonly #readData: (
    organization: string,
    request: FeedRequest,
    found: Found,
    after: string,
    signal: AbortSignal,
  ) => Promise<ReadBody>;

  constructor(options: FeedOptions) {
    const { queue, stopping } = options;
    const readAhead: ReadChunk = (...request) => readChunk(options, ...request);
    this.#options = options;
    this.#empty = createEmptyStretches(options.arrivedBefore);
    this.#ahead = new ReadAhead(inTurn(queue, readAhead));
    this.#look = inTurn(queue, (...request) => this.#lookNow(...request));
    this.#readData = inTurn(
      queue,
      (...request) => readData(options, ...request),
      (body) => ('flow' in body ? body.flow : undefined),
    );
    stopping.addEventListener('abort', () => this.#ahead.stop(), { once: true });
  }

  async read(organization: string, request: FeedRequest, signal: AbortSignal): Promise<ReadBody> {
    const { cursor, filter, limit } = request;
    const from = cursor === '' ? undefined : this.#options.cursors.read(organization, cursor);
    const follows = from !== undefined && !isFiltered(filter);
    if (follows) {
      const body = await this.#ahead.take(organization, from, limit, (page) =>
        bodyOf(page.events, this.#metaText(organization, { ...page, more: true })),
      );
      if (body !== undefined) return body;
    }
    const found = await this.#find(organization, request, from, signal);
    const after = this.#metaText(organization, found);
    if (!found.rows) return { bytes: Buffer.from(`{"data":[]${after}`), release: () => {} };
    const body = await this.#readData(organization, request, found, after, signal);
    if (follows && found.more && 'bytes' in body)
      this.#ahead.begin(organization, found.last, limit, body.bytes.length);
    return body;
  }

  /** Looks once, and again for as long as the request waits and there is nothing. */
  async #find(
    organization: string,
    request: FeedRequest,
    from: bigint | undefined,
    signal: AbortSignal,
  ): Promise<Found> {
    const { stopping } = this.#options;
    const deadline = performance.now() + request.waitSeconds * 1000;
    let found = await this.#look(organization, request, from, signal);
    if (found.rows || found.more || request.waitSeconds === 0) return found;
    const leave = this.#waiting.enter(organization);
    try {
      while (!found.rows && !found.more && performance.now() < deadline && !stopping.aborted) {
        await pause(Math.min(limits.feedPollMs, deadline - performance.now()), signal, stopping);
        found = await this.#look(organization, request, found.last, signal);
      }
    } finally {
      leave();
    }
    return found;
  }

  async #lookNow(
    organization: string,
    request: FeedRequest,
    from: bigint | undefined,
    signal: AbortSignal,
  ): Promise<Found> {
    const { storage } = this.#options;
    const settledBefore = await this.#options.settledBefore(organization);
    // After it: who writes later than this takes a place behind it.
    const others = await this.#options.peersVersion();
    const after = from ?? (await startOf(storage, organization, request.filter, settledBefore, signal));
    const parts = { storage, empty: this.#empty };
    return find(parts, organization, request, { after, settledBefore, others }, signal);
  }

  #metaText(organization: string, found: Pick<Found, 'last' | 'more' | 'settledBefore'>): string {
    const meta = {
      next_cursor: this.#options.cursors.write(organization, found.last),
      has_more: found.more,
      settled_through: microsOfSeq(found.settledBefore),
    };
    return `,"meta":${JSON.stringify(meta)}}`;
  }
}

/** When a place in the order was given out, Unix microseconds: see ingest/sequence.ts for what it is made of. */
function microsOfSeq(seq: bigint): number {
  return Number(((seq >> 26n) * 10n + BigInt(Date.UTC(2020, 0, 1))) * 1000n);
}

interface Stretch {
  /** Nothing is in (from, to], all of it settled. */
  readonly from: bigint;
  readonly to: bigint;
  /** What other writers had written by then: see FeedOptions. */
  readonly others: number | undefined;
}

interface EmptyStretches {
  /** The place after `from`, up to `settled` at most, before which nothing is known to be. */
  skip(organization: string, from: bigint, settled: bigint, others: number | undefined): bigint;
  add(organization: string, stretch: Stretch): void;
}

/**
 * The newest stretch of the order, for each organization, that was looked at and found empty. What has settled stays
 * as it is, and what settled since is empty too if neither this process nor another has written: a follower that
 * finds nothing need not ask the engine at all.
 */
function createEmptyStretches(arrivedBefore: FeedOptions['arrivedBefore']): EmptyStretches {
  const stretches = new FifoMap<Stretch>();

  function put(organization: string, stretch: Stretch): void {
    stretches.set(organization, stretch);
    if (stretches.size > limits.feedEmptyStretchesMax) stretches.removeOldest();
  }

  return {
    skip(organization, from, settled, others) {
      const known = stretches.get(organization);
      if (known === undefined || from < known.from || from > known.to) return from;
      const before = arrivedBefore(organization);
      const isQuiet = others !== undefined && others === known.others;
      if (settled <= known.to || before === undefined || before > known.to + 1n || !isQuiet) return known.to;
      put(organization, { ...known, to: settled });
      return settled;
    },
    add(organization, stretch) {
      const known = stretches.get(organization);
      const joins = known !== undefined && known.from <= stretch.from && stretch.from <= known.to;
      put(
        organization,
        joins && known.to > stretch.to ? known : { ...stretch, from: joins ? known.from : stretch.from },
      );
    },
  };
}

/** Bounds those who wait: each costs a look at the table now and then. */
function createWaiting() {
  const byOrganization = new Map<string, number>();
  let all = 0;
  return {
    enter(organization: string): () => void {
      const own = byOrganization.get(organization) ?? 0;
      if (own >= limits.feedWaitingPerOrganizationMax || all >= limits.feedWaitingMax) {
        const detail = 'Too many requests wait for events; ask without "wait", or later.';
        throw new Problem('rate_limited', detail, { retryAfterSeconds: 1 });
      }
      byOrganization.set(organization, own + 1);
      all += 1;
      return () => {
        const left = (byOrganization.get(organization) ?? 1) - 1;
        if (left === 0) byOrganization.delete(organization);
        else byOrganization.set(organization, left);
        all -= 1;
      };
    },
  };
}

async function pause(ms: number, signal: AbortSignal, stopping: AbortSignal): Promise<void> {
  try {
    await sleep(Math.max(1, ms), undefined, { signal: AbortSignal.any([signal, stopping]) });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
  }
}

/** The place before the first event, in the order of ingest, that is not older than `startTime`. */
async function startOf(
  storage: Storage,
  organization: string,
  { fromMicros }: AuditFilter,
  settledBefore: bigint,
  signal: AbortSignal,
): Promise<bigint> {
  if (fromMicros === undefined) return 0n;
  const where = whereClause(organization, { fromMicros });
  const query = `SELECT min(seq) AS first, count() AS events FROM events WHERE ${where.sql}`;
  const [row] = await storage.readRows<{ first: string; events: string }>(query, where.parameters, {
    signal,
    settings: feedPage,
  });
  const first = row === undefined || row.events === '0' ? settledBefore : BigInt(row.first);
  return (first < settledBefore ? first : settledBefore) - 1n;
}

const inRange = 'seq > {after:UInt64} AND seq < {before:UInt64}';

/** The first places of a range: how many, the one that fills the page, and the last. */
const places = (where: string): string =>
  'SELECT length(s) AS found, s[{limit:UInt64}] AS full, s[-1] AS last FROM (SELECT groupArray(seq) AS s FROM ' +
  `(SELECT seq FROM events WHERE ${where} AND ${inRange} ORDER BY org, seq LIMIT {rows:UInt64}))`;

interface Places {
  readonly found: number;
  readonly full: bigint;
  readonly last: bigint;
}

interface LookFrom {
  readonly after: bigint;
  readonly settledBefore: bigint;
  /** What others had written (see FeedOptions) when the order had settled that far, or a little later. */
  readonly others: number | undefined;
}

async function find(
  { storage, empty }: { readonly storage: Storage; readonly empty: EmptyStretches },
  organization: string,
  { filter, limit }: FeedRequest,
  { after, settledBefore, others }: LookFrom,
  signal: AbortSignal,
): Promise<Found> {
  const filtered = isFiltered(filter);
  const all = whereClause(organization, {});
  const matching = whereClause(organization, withoutStart(filter));
  const settled = settledBefore - 1n;
  let from = empty.skip(organization, after, settled, others);
  for (let windows = 0; ; windows++) {
    if (from >= settled) return { after: from, last: from, rows: false, more: false, settledBefore };
    const range = { after: String(from), before: String(settledBefore), limit };
    const rows = filtered ? limits.feedWindowRows : limit + 1;
    const window = await placesOf(storage, all, { ...range, rows }, feedOrder, signal);
    const isLast = window.found < rows;
    if (window.found === 0) empty.add(organization, { from, to: settled, others });
    const end = isLast ? settled : window.last;
    if (!filtered) {
      const last = isLast ? settled : window.full;
      return { after: from, last, rows: window.found > 0, more: !isLast, settledBefore };
    }
    const bounded = { ...range, before: String(end + 1n), rows: limit + 1 };
    const hits =
      window.found > 0
        ? await placesOf(storage, matching, bounded, feedPage, signal)
        : { found: 0, full: 0n };
    const isFull = hits.found > limit;
    const found = { after: from, last: isFull ? hits.full : end, rows: hits.found > 0, settledBefore };
    if (hits.found > 0 || isLast || windows >= limits.feedWindowsMax) {
      return { ...found, more: isFull || !isLast };
    }
    from = end;
  }
}

function isFiltered(filter: AuditFilter): boolean {
  return filter.nothing === true || hasColumnFilter(filter) || filter.toMicros !== undefined;
}

/** `startTime` is a place in the order, not a filter: what comes later and is dated back must not be missed. */
function withoutStart(filter: AuditFilter): AuditFilter {
  const rest: { -readonly [K in keyof AuditFilter]: AuditFilter[K] } = { ...filter };
  delete rest.fromMicros;
  return rest;
}

async function placesOf(
  storage: Storage,
  where: ReturnType<typeof whereClause>,
  range: Readonly<Record<string, string | number>>,
  settings: typeof feedPage,
  signal: AbortSignal,
): Promise<Places> {
  const parameters = { ...where.parameters, ...range };
  const [row] = await storage.readRows<Record<keyof Places, string>>(places(where.sql), parameters, {
    signal,
    settings,
  });
  return { found: Number(row?.found ?? 0), full: BigInt(row?.full ?? 0), last: BigInt(row?.last ?? 0) };
}

/** The query for all events of a range of the order, as the `data` of an answer. */
function dataQuery(
  { envelope, clock }: FeedOptions,
  where: Where,
  { after, last }: { readonly after: bigint; readonly last: bigint },
) {
  const delimiters = envelopeSettings({
    before: '',
    rowBefore: envelope.head,
    rowAfter: `"logged_time":${clock()}${envelope.tail}`,
    after: '',
  });
  return {
    query: `SELECT ocsf FROM events WHERE ${where.sql} AND ${inRange} ORDER BY org, seq FORMAT CustomSeparated`,
    parameters: { ...where.parameters, after: String(after), before: String(last + 1n) },
    settings: { ...delimiters, ...feedPage },
  };
}

const beforeData = '{"data":[';

async function readData(
  options: FeedOptions,
  organization: string,
  { filter }: FeedRequest,
  found: Found,
  meta: string,
  signal: AbortSignal,
): Promise<ReadBody> {
  const where = whereClause(organization, withoutStart(filter));
  const { query, parameters, settings } = dataQuery(options, where, found);
  const around = () => ({ skip: 0, before: beforeData, after: `]${meta}` });
  return readEnveloped(
    options.storage,
    query,
    parameters,
    { settings, signal },
    { ofWhole: around, ofStart: around },
  );
}

/** The same body around events that have been read before, in memory of its own. */
function bodyOf(events: Uint8Array, meta: string): ReadBody {
  const memory = buffers.take(beforeData.length + events.length + meta.length + 1);
  const bytes = Buffer.from(memory);
  const start = bytes.write(beforeData, 'latin1');
  bytes.set(events, start);
  const end = start + events.length;
  const length = end + bytes.write(`]${meta}`, end, 'latin1');
  return { bytes: bytes.subarray(0, length), release: () => buffers.give(memory) };
}

/** Ends of pages of `limit` events among the first `rows` places of a range, as far as an event follows them. */
const pageEnds =
  'SELECT arrayMap(page -> s[page * {limit:UInt64}], range(1, intDiv(length(s) + {limit:UInt64} - 1, {limit:UInt64}))) AS ends ' +
  'FROM (SELECT groupArray(seq) AS s FROM ' +
  `(SELECT seq FROM events WHERE org = {org:UUID} AND ${inRange} ORDER BY org, seq LIMIT {rows:UInt64}))`;

/** Full pages behind a place in the order: see ReadChunk. */
async function readChunk(
  options: FeedOptions,
  organization: string,
  after: bigint,
  { limit, pages }: { readonly limit: number; readonly pages: number },
  signal: AbortSignal,
): Promise<Chunk | undefined> {
  const { storage } = options;
  const settledBefore = await options.settledBefore(organization);
  const range = { after: String(after), before: String(settledBefore), limit, rows: pages * limit + 1 };
  const [row] = await storage.readRows<{ ends: string[] }>(
    pageEnds,
    { org: organization, ...range },
    { signal, settings: feedOrder },
  );
  const ends = (row?.ends ?? []).map(BigInt);
  const last = ends.at(-1);
  if (last === undefined) return undefined;
  const { query, parameters, settings } = dataQuery(options, whereClause(organization, {}), { after, last });
  const holding = { signal, settings, headroom: 0, tailroom: 0, bytesMax: limits.pageBufferedBytesMax };
  const rows = await storage.bytes(query, parameters, holding);
  if (!('release' in rows)) {
    rows.destroy();
    return undefined;
  }
  // Events whose time was over between the two queries: the pages would not be what their ends say.
  if (linesOf(rows) === ends.length * limit) return { rows, pageEnds: ends, settledBefore };
  rows.release();
  return undefined;
}
