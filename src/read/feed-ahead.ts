import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import { EngineError } from '../base/engine-error.ts';
import type { HeldBytes } from '../storage/storage.ts';

/** A run of settled events of one organization in the order of ingest, read at once and handed out in pages. */
export interface Chunk {
  /** The events as JSON, one a line, with a comma after each but the last. */
  readonly rows: HeldBytes;
  /** `seq` of the last event of each page; every page is full, and more events follow the last one. */
  readonly pageEnds: readonly bigint[];
  readonly settledBefore: bigint;
}

/** One page of a chunk; its bytes are the chunk's. */
export interface PageAhead {
  readonly events: Uint8Array;
  readonly last: bigint;
  readonly settledBefore: bigint;
}

/**
 * Reads at most `pages` pages of `limit` events behind `after`; undefined where fewer than a page and one event are
 * settled there, or where they are too large to be held. Rejects with EngineError, or with a Problem when it gets no
 * turn.
 */
export type ReadChunk = (
  organization: string,
  after: bigint,
  range: { readonly limit: number; readonly pages: number },
  signal: AbortSignal,
) => Promise<Chunk | undefined>;

interface Entry {
  readonly organization: string;
  readonly limit: number;
  readonly chunk: Promise<Chunk | undefined>;
  readonly reading: AbortController;
  /** Index of the page that comes next, and where its bytes begin. */
  page: number;
  start: number;
  expiry: NodeJS.Timeout | undefined;
}

const lineFeed = 0x0a;

/**
 * Reads ahead of followers of the feed. The engine takes a third less for ten pages in one query than for ten queries,
 * and works while the follower does: beside ingest a follower of full pages reads four times as fast (bench:
 * `feed.follow`). Entries are
 * found by where their next page begins, so a client that asks for another place is served as if there were none.
 */
export class ReadAhead {
  readonly #read: ReadChunk;
  readonly #entries = new Map<string, Entry>();
  /** All that hold memory, or will: those of the map, and those that a request waits for. */
  readonly #live = new Set<Entry>();
  #stopped = false;

  constructor(read: ReadChunk) {
    this.#read = read;
  }

  /** Begins to read what follows a page of `pageBytes` that has just been read, if that fits into the bounds. */
  begin(organization: string, after: bigint, limit: number, pageBytes: number): void {
    const key = keyOf(organization, after, limit);
    const pages = Math.floor(
      Math.min(limits.feedAheadEventsMax / limit, limits.feedAheadBytesMax / pageBytes),
    );
    if (this.#stopped || pages < 2 || this.#entries.has(key)) return;
    const own = [...this.#live].filter((entry) => entry.organization === organization).length;
    if (own >= limits.feedAheadPerOrganizationMax || this.#live.size >= limits.feedAheadMax) return;
    const reading = new AbortController();
    const chunk = this.#read(organization, after, { limit, pages }, reading.signal).catch(
      (error: unknown) => {
        // Whoever asks for the page reads it then, and hears of a failure that lasts.
        if (error instanceof EngineError || error instanceof Problem) return undefined;
        throw error;
      },
    );
    const entry = { organization, limit, chunk, reading, page: 0, start: 0, expiry: undefined };
    this.#live.add(entry);
    this.#put(key, entry);
    const forget = (): void => {
      this.#live.delete(entry);
      if (this.#entries.get(key) === entry) this.#drop(key);
    };
    chunk.then((found) => {
      if (found === undefined) forget();
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
    use: (page: PageAhead) => T,
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
      const page = cut(chunk, entry);
      const used = use(page);
      entry.page += 1;
      this.#advance(entry, chunk, page.last);
      return used;
    } catch (error) {
      this.#release(entry, chunk);
      throw error;
    }
  }

  /** What comes of an entry when a page of it, up to `last`, has been handed out. */
  #advance(entry: Entry, { rows, pageEnds }: Chunk, last: bigint): void {
    const { organization, limit } = entry;
    const end = pageEnds.at(-1) as bigint;
    const pageBytes = (rows.end - rows.start) / pageEnds.length;
    if (entry.page * 2 >= pageEnds.length) this.begin(organization, end, limit, pageBytes);
    if (entry.page < pageEnds.length && !this.#stopped) this.#put(keyOf(organization, last, limit), entry);
    else this.#release(entry, { rows });
  }

  #release(entry: Entry, { rows }: Pick<Chunk, 'rows'>): void {
    this.#live.delete(entry);
    rows.release();
  }

  /** Ends what is being read and gives all memory back; who waits for a page still gets it. */
  stop(): void {
    this.#stopped = true;
    for (const key of this.#entries.keys()) this.#drop(key);
  }

  #put(key: string, entry: Entry): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    entry.expiry = setTimeout(() => this.#drop(key), limits.feedAheadMsMax);
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

/** Finds the next page of a chunk, and moves the entry on. */
function cut({ rows, pageEnds, settledBefore }: Chunk, entry: Entry): PageAhead {
  const { buffer } = rows;
  const start = entry.page === 0 ? rows.start : entry.start;
  let end = start;
  for (let events = 0; events < entry.limit; events++) {
    const at = buffer.indexOf(lineFeed, end);
    end = at === -1 || at >= rows.end ? rows.end : at + 1;
  }
  entry.start = end;
  // The comma and the line feed behind the last event are the next page's affair.
  const isLast = end === rows.end && buffer[end - 1] !== lineFeed;
  const events = buffer.subarray(start, isLast ? end : end - 2);
  return { events, last: pageEnds[entry.page] as bigint, settledBefore };
}

/** Events in the rows of a chunk: none holds a raw line feed. */
export function linesOf({ buffer, start, end }: HeldBytes): number {
  let lines = end > start ? 1 : 0;
  for (let at = buffer.indexOf(lineFeed, start); at !== -1 && at < end; at = buffer.indexOf(lineFeed, at + 1))
    lines += 1;
  return lines;
}
