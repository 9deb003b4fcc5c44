import { EngineError } from '../base/errors/engine-error.ts';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import { Problem } from '../base/errors/problem.ts';
import type { HeldBytes } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Events that are read ahead at once: no more than are read by their places in one part (plans.ts). */
const feedAheadEventsMax = 20_000;
/** Bytes of them, by the size of the events before. */
const feedAheadBytesMax = 16 * 1024 * 1024;
const feedAheadMax = 4;
/** Organizations whose events' size is remembered. */
const feedAheadOrganizationsMax = 1_024;
/** What was read ahead is kept this long. */
const feedAheadMsMax = 5_000;

/** A page of the feed: its events follow those of the page before it, up to the place `last`. */
export interface PagePlace {
  readonly last: bigint;
  readonly events: number;
  /** Events below the watermark follow. */
  readonly more: boolean;
}

/** Pages that follow one another behind a place; none where nothing more is below the watermark. All but the last are full. */
export interface PlacesFound {
  readonly after: bigint;
  readonly pages: readonly PagePlace[];
  readonly watermark: bigint;
}

/** A run of events of one organization in the order of ingest, read at once and handed out in pages. */
export interface Chunk {
  readonly pages: readonly PageAhead[];
  readonly watermark: bigint;
  /** Gives the memory back that the pages are in. */
  release(): void;
}

/** A page whose events have been read: JSON, with a comma and a line feed between two. */
export interface PageAhead extends PagePlace {
  readonly bytes: Uint8Array;
}

/** Where to read ahead; the places of the pages where they are known already. */
export interface AheadOf {
  readonly after: bigint;
  readonly limit: number;
  readonly pages: number;
  readonly found?: PlacesFound | undefined;
}

/**
 * Reads the pages that were found or, where none were, at most `pages` full ones behind `after`; undefined where there
 * are none, or where they are too large to be held. Rejects with EngineError, or with a Problem when it gets no turn.
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
  /** Index of the page that comes next. */
  page: number;
  expiry: NodeJS.Timeout | undefined;
}

const lineFeed = 0x0a;
/** Bytes of the comma and the line feed between two events. */
const betweenEvents = 2;

/**
 * Reads for followers of the feed, many pages at once: ten pages of 1000 cost the engine little more than two, and it
 * works while the follower does (bench: `feed.follow`). Entries are found by where their next page begins, so a client
 * that asks for another place is served as if there were none.
 */
export class ReadAhead {
  readonly #read: ReadChunk;
  readonly #entries = new Map<string, Entry>();
  /** All that hold memory, or will: those of the map, and those that a request waits for. */
  readonly #live = new Set<Entry>();
  /** Bytes of an event of those whose feed was read lately: says how many pages can be held. */
  readonly #eventBytes = new FifoMap<number>();
  #stopped = false;

  constructor(read: ReadChunk) {
    this.#read = read;
  }

  /** Takes down how large events of an organization are. */
  note(organization: string, bytes: number, events: number): void {
    this.#eventBytes.set(organization, bytes / events);
    if (this.#eventBytes.size > feedAheadOrganizationsMax) this.#eventBytes.removeOldest();
  }

  /** Whether a page of events as large as those before would be more than a page may have. */
  areLarge(organization: string, limit: number): boolean {
    return (this.#eventBytes.get(organization) ?? 0) * limit > limits.feedPageBytesMax;
  }

  /** How many pages may be read at once for an organization now; 1 where nothing is to be read ahead. */
  pagesAtOnce(organization: string, limit: number): number {
    const eventBytes = this.#eventBytes.get(organization);
    const own = [...this.#live].filter((entry) => entry.organization === organization).length;
    const isFull = own >= limits.feedAheadPerOrganizationMax || this.#live.size >= feedAheadMax;
    if (this.#stopped || isFull || eventBytes === undefined) return 1;
    const events = Math.min(feedAheadEventsMax, feedAheadBytesMax / eventBytes);
    return Math.max(1, Math.floor(events / limit));
  }

  /** Begins to read what follows a place, if that fits into the bounds: the pages that were found, if some were. */
  begin(organization: string, after: bigint, limit: number, found?: PlacesFound): void {
    const key = keyOf(organization, after, limit);
    const pages = this.pagesAtOnce(organization, limit);
    if (pages < 2 || this.#entries.has(key)) return;
    const reading = new AbortController();
    const range = { after, limit, pages, found };
    const chunk = this.#read(organization, range, reading.signal).catch((error: unknown) => {
      // Whoever asks for the page reads it then, and hears of a failure that lasts.
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

  /**
   * What `use` makes of the page behind `after`, where that has been read or is being read; it is then gone from here.
   * `use` copies what it needs: the memory is used again.
   */
  async take<T>(
    organization: string,
    after: bigint,
    limit: number,
    use: (page: PageAhead, watermark: bigint) => T,
  ): Promise<T | undefined> {
    const key = keyOf(organization, after, limit);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // Nobody else is to take it meanwhile.
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

  /** What comes of an entry when a page of it has been handed out. */
  #advance(entry: Entry, chunk: Chunk, { bytes, events, last }: PageAhead): void {
    const { organization, limit } = entry;
    const { pages } = chunk;
    this.note(organization, bytes.length, events);
    if (entry.page * 2 >= pages.length) this.begin(organization, (pages.at(-1) as PagePlace).last, limit);
    if (entry.page < pages.length && !this.#stopped) this.#put(keyOf(organization, last, limit), entry);
    else this.#release(entry, chunk);
  }

  #release(entry: Entry, chunk: Chunk): void {
    this.#live.delete(entry);
    chunk.release();
  }

  /** Ends what is being read and gives all memory back; who waits for a page still gets it. */
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
      // Told to nobody: nobody has asked for this page.
      () => undefined,
    );
  }
}

function keyOf(organization: string, after: bigint, limit: number): string {
  return `${organization} ${after} ${limit}`;
}

/**
 * Divides rows, one event a line, into the pages that were found; undefined where there are not as many: the time of
 * some had expired before they were read, and pages would not be what their places say.
 */
export function dividePages(rows: HeldBytes, { pages, watermark }: PlacesFound): Chunk | undefined {
  const { buffer, start: first, end: behind } = rows;
  // A Buffer finds a byte several times faster than another Uint8Array does.
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
