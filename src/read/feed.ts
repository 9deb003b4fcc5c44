import type { Clock } from '../base/time/clock.ts';
import type { FairQueue } from '../base/waiting/fair-queue.ts';
import { Pauses } from '../base/waiting/pauses.ts';
import type { Storage } from '../storage/storage.ts';
import { stringify } from '../contract/stringify.ts';
import type { EventEnvelope } from './envelope.ts';
import { inTurn, slotsWithoutWaiting, makeTurn } from './fair-queue.ts';
import { type AheadOf, type PlacesFound, ReadAhead } from './feed-ahead.ts';
import type { FeedCursors } from './feed-cursor.ts';
import { feedBody, FeedTable, type Found, isFiltered } from './feed-table.ts';
import {
  type AuditFilter,
  type EventSchema,
  type OrganizationNames,
  readFilter,
  readLimit,
  readSchema,
} from './filter.ts';
import { limits } from './limits.ts';
import type { QueryParameters } from './parameters.ts';
import type { ReadBody } from './read-body.ts';
import type { Ocsf110Pool } from './ocsf110/pool.ts';

const feedWaitingPerOrganizationMax = 16;
const feedWaitingMax = 1_024;
const feedLimitMax = 10_000;
const feedPollMs = 250;

export interface FeedRequest {
  readonly filter: AuditFilter;
  readonly schema?: EventSchema;
  readonly cursor: string;
  readonly limit: number;
  readonly waitSeconds: number;
}

/**
 * The whole body of an answer. Rejects with EngineError, or with a Problem for an invalid cursor or too many
 * waiting requests. `organization` is a lower-case UUID.
 */
export type FeedReader = (
  organization: string,
  request: FeedRequest,
  signal: AbortSignal,
) => Promise<ReadBody>;

export interface FeedOptions {
  readonly storage: Storage;
  readonly pool: Ocsf110Pool;
  readonly envelope: EventEnvelope;
  readonly clock: Clock;
  readonly cursors: FeedCursors;
  /** No later event of the organization has a lower `seq`. */
  watermark(organization: string): bigint;
  /**
   * A position after every event of the organization that arrived before the last call of `watermark`;
   * undefined while some are being stored, or if unknown.
   */
  arrivedBefore(organization: string): bigint | undefined;
  waitingMs(): number;
  retentionCutOff(organization: string): number | undefined;
  readonly queue: FairQueue;
  readonly stopping: AbortSignal;
}

/** Reads query parameters (contract: Read, feed); all but the cursor are read leniently. */
export function readFeedRequest(parameters: QueryParameters, organization: OrganizationNames): FeedRequest {
  return {
    filter: readFilter(parameters, organization),
    ...readSchema(parameters),
    cursor: parameters.text('cursor') ?? '',
    limit: readLimit(parameters, limits.pageLimitDefault, feedLimitMax),
    waitSeconds: parameters.readCapped('wait', seconds, limits.feedWaitSecondsMax) ?? 0,
  };
}

const seconds = (text: string): number | undefined => (/^\d+$/.test(text) ? Number(text) : undefined);

/**
 * Below the watermark only: segments reach the table out of order, and a follower would miss the earlier ones. The watermark is
 * read before the table, so every event below it is in the table.
 */
export function createFeedReader(options: FeedOptions): FeedReader {
  const feed = new Feed(options);
  return (organization, request, signal) => feed.read(organization, request, signal);
}

class Feed {
  readonly #options: FeedOptions;
  readonly #table: FeedTable;
  readonly #ahead: ReadAhead;
  readonly #waiting = slotsWithoutWaiting({
    slotsPerOrganization: feedWaitingPerOrganizationMax,
    slots: feedWaitingMax,
    refusal: 'Too many requests wait for events; ask without "wait", or later.',
    retryAfterSeconds: 1,
  });

  readonly #pauses = new Pauses();

  constructor(options: FeedOptions) {
    const { queue, stopping } = options;
    this.#options = options;
    this.#table = new FeedTable(options.envelope, options.clock, options, (organization) =>
      options.retentionCutOff(organization),
    );
    this.#ahead = new ReadAhead(
      inTurn(queue, async (organization, range, signal) => {
        const found = range.found ?? (await this.#findFull(organization, range, signal));
        return found.pages.length === 0 ? undefined : this.#table.readChunk(organization, found, signal);
      }),
    );
    const stop = (): void => {
      this.#ahead.stop();
      this.#pauses.endAll();
    };
    stopping.addEventListener('abort', stop, { once: true });
  }

  async read(organization: string, request: FeedRequest, signal: AbortSignal): Promise<ReadBody> {
    const { cursor, filter, limit } = request;
    const from = cursor === '' ? undefined : this.#options.cursors.read(organization, cursor);
    // Only the default schema is read ahead.
    const follows = from !== undefined && !isFiltered(filter) && request.schema === undefined;
    if (follows) {
      const body = await this.#takeAhead(organization, from, limit);
      if (body !== undefined) return body;
    }
    const found = await this.#find(organization, request, from, signal);
    if (!found.rows) {
      return { bytes: Buffer.from(`{"data":[]${this.#metaText(organization, found)}`), release: () => {} };
    }
    if (follows && found.places !== undefined && found.places.pages.length > 1) {
      this.#ahead.begin(organization, found.after, limit, found.places);
      const body = await this.#takeAhead(organization, found.after, limit);
      if (body !== undefined) return body;
    }
    const body = await this.#readPage(organization, request, found, signal);
    if (follows && 'bytes' in body) {
      this.#ahead.note(organization, body.bytes.length, found.places?.pages[0]?.events ?? limit);
      if (found.more) this.#ahead.begin(organization, found.last, limit);
    }
    return body;
  }

  #takeAhead(organization: string, after: bigint, limit: number): Promise<ReadBody | undefined> {
    return this.#ahead.take(organization, after, limit, ({ bytes, last, more }, watermark) =>
      feedBody(bytes, this.#metaText(organization, { last, more, watermark })),
    );
  }

  async #findFull(organization: string, range: AheadOf, signal: AbortSignal): Promise<PlacesFound> {
    const watermark = this.#options.watermark(organization);
    const from = { after: range.after, watermark };
    if (this.#hasAll(organization, range.after, watermark)) return { ...from, pages: [] };
    const found = await this.#table.findAll(organization, range, from, signal);
    return { ...found, pages: found.pages.filter(({ more }) => more) };
  }

  async #readPage(
    organization: string,
    { filter, schema, limit }: FeedRequest,
    found: Found,
    signal: AbortSignal,
  ): Promise<ReadBody> {
    const page = { filter, ...(schema === undefined ? {} : { schema }) };
    const turn = makeTurn(this.#options.queue);
    if (!this.#ahead.areLarge(organization, limit)) {
      const meta = this.#metaText(organization, found);
      const read = (aborting: AbortSignal) => this.#table.readPage(organization, page, found, meta, aborting);
      const body = await turn(organization, read, signal);
      if (body !== undefined) return body;
    }
    const shorten = (aborting: AbortSignal) => this.#table.shorten(organization, page, found, aborting);
    const short = await turn(organization, shorten, signal);
    this.#ahead.note(
      organization,
      short.events.reduce((sum, { bytes }) => sum + bytes, 0),
      Math.max(1, short.events.length),
    );
    return {
      flow: this.#table.readShort(organization, schema, short, this.#metaText(organization, short), turn),
    };
  }

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
    const release = await this.#waiting.acquire(organization);
    try {
      while (!found.rows && !found.more && performance.now() < deadline && !stopping.aborted) {
        await this.#pauses.take(Math.min(feedPollMs, deadline - performance.now()), signal);
        found = await this.#look(organization, request, found.last, signal);
      }
    } finally {
      release();
    }
    return found;
  }

  /** Skips the query if nothing can have arrived: an up-to-date follower costs the engine nothing. */
  async #look(
    organization: string,
    { filter, limit, schema }: FeedRequest,
    from: bigint | undefined,
    signal: AbortSignal,
  ): Promise<Found> {
    const watermark = this.#options.watermark(organization);
    if (from !== undefined && this.#hasAll(organization, from, watermark)) {
      const last = from < watermark ? watermark - 1n : from;
      return { after: from, last, rows: false, more: false, watermark };
    }
    const look = async (id: string, aborting: AbortSignal): Promise<Found> => {
      const after = from ?? (await this.#table.startOf(id, filter, watermark, aborting));
      const range = { after, watermark };
      if (isFiltered(filter)) return this.#table.findMatching(id, filter, limit, range, aborting);
      const pages =
        from === undefined || schema !== undefined ? 1 : this.#ahead.pagesAtOnce(organization, limit);
      return firstOf(await this.#table.findAll(id, { limit, pages }, range, aborting));
    };
    return inTurn(this.#options.queue, look)(organization, signal);
  }

  #hasAll(organization: string, from: bigint, watermark: bigint): boolean {
    if (from >= watermark - 1n) return true;
    const arrivedBefore = this.#options.arrivedBefore(organization);
    return arrivedBefore !== undefined && arrivedBefore <= from + 1n;
  }

  #metaText(organization: string, found: Pick<Found, 'last' | 'more' | 'watermark'>): string {
    const meta = {
      next_cursor: this.#options.cursors.write(organization, found.last),
      has_more: found.more,
      settled_through: Math.min(microsOfSeq(found.watermark), this.#oldestMicros()),
      read_through: microsOfSeq(found.last),
    };
    return `,"meta":${stringify('FeedMeta', meta)}}\n`;
  }

  #oldestMicros(): number {
    const { clock, waitingMs } = this.#options;
    const ms = waitingMs();
    return ms === 0 ? Number.POSITIVE_INFINITY : clock() - Math.round(ms * 1000);
  }
}

function firstOf(places: PlacesFound): Found {
  const { after, watermark, pages } = places;
  const { last, more } = pages[0] ?? { last: watermark - 1n, more: false };
  return { after, last, rows: pages.length > 0, more, watermark, places };
}

/** Time (Unix microseconds) in a `seq` (base/events/sequence.ts). */
function microsOfSeq(seq: bigint): number {
  return Number(((seq >> 26n) * 10n + BigInt(Date.UTC(2020, 0, 1))) * 1000n);
}
