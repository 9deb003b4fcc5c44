import { EngineError } from '../base/errors/engine-error.ts';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import { Problem } from '../base/errors/problem.ts';
import type { HeldBytes } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Events of a read-ahead: at most as many as `byProjection` reads from one part (plans.ts). */
const feedAheadEventsMax = 20_000;
const feedAheadBytesMax = 16 * 1024 * 1024;
const feedAheadMax = 4;
const feedAheadOrganizationsMax = 1_024;
const feedAheadMsMax = 5_000;

/** A page of the feed: `events` events up to `last`, after those of the page before. */
export interface PagePlace {
  readonly last: bigint;
  readonly events: number;
  readonly more: boolean;
}

/** Consecutive pages behind a position; all but the last are full. */
export interface PlacesFound {
  readonly after: bigint;
  readonly pages: readonly PagePlace[];
  readonly watermark: bigint;
}

export interface Chunk {
  readonly pages: readonly PageAhead[];
  readonly watermark: bigint;
  release(): void;
}

/** A page with its events as JSON, a comma and a line feed between two. */
export interface PageAhead extends PagePlace {
  readonly bytes: Uint8Array;
}

export interface AheadOf {
  readonly after: bigint;
  readonly limit: number;
  readonly pages: number;
  readonly found?: PlacesFound | undefined;
}

/**
 * Reads the given pages, or at most `pages` full ones behind `after`; undefined without any, or if too large. Rejects with
 * EngineError, or with a Problem if it gets no turn.
 */
export type ReadChunk = (
  organization: string,
  range: AheadOf,
  signal: AbortSignal,
) => Promise<Chunk | undefined>;

interface Entry {
  readonly organization: string;
  readonly limit: number;
  readonly chunk: Promise<Chunk | undefined>;
  readonly reading: AbortController;
  page: number;
  expiry: NodeJS.Timeout | undefined;
}

const lineFeed = 0x0a;
const betweenEvents = 2;

/**
 * Ten pages of 1000 cost the engine little more than two (bench: `feed.follow`). Entries are keyed by the start of their next
 * page, so any other position is read as usual.
 */
export class ReadAhead {
  readonly #read: ReadChunk;
  readonly #entries = new Map<string, Entry>();
  readonly #live = new Set<Entry>();
  readonly #eventBytes = new FifoMap<number>();
  #stopped = false;

  constructor(read: ReadChunk) {
    this.#read = read;
  }

  note(organization: string, bytes: number, events: number): void {
    this.#eventBytes.set(organization, bytes / events);
    if (this.#eventBytes.size > feedAheadOrganizationsMax) this.#eventBytes.removeOldest();
  }

  areLarge(organization: string, limit: number): boolean {
    return (this.#eventBytes.get(organization) ?? 0) * limit > limits.feedPageBytesMax;
  }

  /** 1 for no read-ahead. */
  pagesAtOnce(organization: string, limit: number): number {
    const eventBytes = this.#eventBytes.get(organization);
    const own = [...this.#live].filter((entry) => entry.organization === organization).length;
    const isFull = own >= limits.feedAheadPerOrganizationMax || this.#live.size >= feedAheadMax;
    if (this.#stopped || isFull || eventBytes === undefined) return 1;
    const events = Math.min(feedAheadEventsMax, feedAheadBytesMax / eventBytes);
    return Math.max(1, Math.floor(events / limit));
  }

  /** Reads ahead from a position, if the bounds allow: the given pages, if any. */
  begin(organization: string, after: bigint, limit: number, found?: PlacesFound): void {
    const key = entryKey(organization, after, limit);
    const pages = this.pagesAtOnce(organization, limit);
    if (pages < 2 || this.#entries.has(key)) return;
    const reading = new AbortController();
    const range = { after, limit, pages, found };
    const chunk = this.#read(organization, range, reading.signal).catch((error: unknown) => {
      if (error instanceof EngineError || error instanceof Problem) return undefined;
      throw error;
    });
    const entry = { organization, limit, chunk, reading, page: 0, expiry: undefined };
    this.#live.add(entry);
    this.#put(key, entry);
    const forget = (): void => {
      this.#live.delete(entry);
      if (this.#entries.get(key) === entry) this.#drop(key);
    };
    chunk.then((read) => {
      if (read === undefined) forget();
    }, forget);
  }

  /** Passes the page behind `after`, if it is read or being read, to `use`, and removes it. `use` must copy the memory. */
  async take<T>(
    organization: string,
    after: bigint,
    limit: number,
    use: (page: PageAhead, watermark: bigint) => T,
  ): Promise<T | undefined> {
    const key = entryKey(organization, after, limit);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    clearTimeout(entry.expiry);
    const chunk = await entry.chunk;
    if (chunk === undefined) return undefined;
    try {
      const page = chunk.pages[entry.page] as PageAhead;
      const used = use(page, chunk.watermark);
      entry.page += 1;
      this.#advance(entry, chunk, page);
      return used;
    } catch (error) {
      this.#release(entry, chunk);
      throw error;
    }
  }

  #advance(entry: Entry, chunk: Chunk, { bytes, events, last }: PageAhead): void {
    const { organization, limit } = entry;
    const { pages } = chunk;
    this.note(organization, bytes.length, events);
    if (entry.page * 2 >= pages.length) this.begin(organization, (pages.at(-1) as PagePlace).last, limit);
    if (entry.page < pages.length && !this.#stopped) this.#put(entryKey(organization, last, limit), entry);
    else this.#release(entry, chunk);
  }

  #release(entry: Entry, chunk: Chunk): void {
    this.#live.delete(entry);
    chunk.release();
  }

  /** A request that waits for a page still gets it. */
  stop(): void {
    this.#stopped = true;
    for (const key of this.#entries.keys()) this.#drop(key);
  }

  #put(key: string, entry: Entry): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    entry.expiry = setTimeout(() => this.#drop(key), feedAheadMsMax);
    entry.expiry.unref();
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    clearTimeout(entry.expiry);
    entry.reading.abort();
    void entry.chunk.then(
      (chunk) => {
        if (chunk !== undefined) this.#release(entry, chunk);
      },
      () => undefined,
    );
  }
}

function entryKey(organization: string, after: bigint, limit: number): string {
  return `${organization} ${after} ${limit}`;
}

/** Undefined if some events had expired before the read, as positions would not match then. */
export function dividePages(rows: HeldBytes, { pages, watermark }: PlacesFound): Chunk | undefined {
  const { buffer, start: first, end: behind } = rows;
  // `indexOf` of Buffer is several times as fast as that of Uint8Array.
  const bytes = Buffer.from(buffer.buffer, buffer.byteOffset + first, behind - first);
  const divided: PageAhead[] = [];
  let start = 0;
  for (const place of pages) {
    let end = start - betweenEvents;
    for (let events = 0; events < place.events; events++) {
      const from = end + betweenEvents;
      if (from >= bytes.length) return undefined;
      const lineEnd = bytes.indexOf(lineFeed, from);
      end = lineEnd === -1 ? bytes.length : lineEnd + 1 - betweenEvents;
    }
    divided.push({ ...place, bytes: bytes.subarray(start, end) });
    start = end + betweenEvents;
  }
  if (start < bytes.length) return undefined;
  return { pages: divided, watermark, release: rows.release };
}
