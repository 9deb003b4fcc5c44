import type { ByteFlow } from '../base/bytes/byte-flow.ts';

/** How to reach an engine over HTTP; what `DATA_DIR/engine.json` holds beside the pid while the embedded one runs. */
export interface EngineConnection {
  readonly url: string;
  /** Further nodes, asked in this order where the first does not answer. */
  readonly otherUrls?: readonly string[] | undefined;
  /** The cluster that the tables are on. */
  readonly cluster?: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Settings = Readonly<Record<string, string | number>>;

/** Values bound as typed query parameters (`{name:Type}` in the SQL); never spliced into the text. */
export type Parameters = Readonly<Record<string, unknown>>;

export interface QueryOptions {
  readonly settings?: Settings;
  readonly signal?: AbortSignal;
  readonly queryId?: string;
  /** Milliseconds until the request is given up; default is the bound of a read. */
  readonly timeoutMs?: number;
}

export interface InsertOptions extends QueryOptions {
  /** The caller reads the rows by `rowsOnDisk` before it counts on them: that takes one statement, a check two. */
  readonly isUnchecked?: boolean;
}

/** How a result is held: room to be left before and behind it, and from what size on it is not held any more. */
export interface BytesOptions extends QueryOptions {
  readonly headroom: number;
  readonly tailroom: number;
  readonly bytesMax: number;
}

/** A whole result in memory that is used again: `buffer` from `start` to `end`, which whoever holds it may change. */
export interface HeldBytes {
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
  /** Gives the memory back; at most once, and nobody may touch it any more. */
  release(): void;
}

/** Rows by an id (UUID) in a column. */
export interface RemovedRows {
  readonly column: string;
  readonly id: string;
}

/**
 * All storage: one engine, one protocol. Every rejection is an EngineError.
 *
 * Where the engine has several addresses, reads and rows of control tables move to the next node when one does not
 * answer; commands and INSERTs of events do not, as nobody knows whether they took effect.
 */
export interface Storage {
  readonly database: string;
  /** The cluster that the tables are on; undefined on one server. */
  readonly cluster: string | undefined;
  /** Rows of a small result, parsed from JSONEachRow (64-bit integers as strings, as the engine quotes them). */
  rows<T>(query: string, parameters?: Parameters, options?: QueryOptions): Promise<T[]>;
  /** The same by the reader of page bytes, at a fifth of the processor time: for what each page of the feed asks. */
  readRows<T>(query: string, parameters?: Parameters, options?: QueryOptions): Promise<T[]>;
  /**
   * The bytes of a result in the format that the SQL names. Resolves once the engine has answered 200. A failure
   * after that is one of the flow, never a clean end, and the engine's words about it are not in the bytes.
   * Destroying the flow cancels the query.
   */
  flow(query: string, parameters?: Parameters, options?: QueryOptions): Promise<ByteFlow>;
  /** The same, held until it is whole; a result that becomes larger than `bytesMax` goes on as a flow of all of it. */
  bytes(query: string, parameters: Parameters, options: BytesOptions): Promise<HeldBytes | ByteFlow>;
  /** DDL and other statements without a result. */
  command(query: string, parameters?: Parameters, options?: QueryOptions): Promise<void>;
  /** Rows of a control table, as objects named by column. */
  insertRows(table: string, rows: readonly object[], options?: InsertOptions): Promise<void>;
  /** Removes the rows of a table with an id (UUID) in a column; physically, once this resolves. */
  removeRows(table: string, rows: RemovedRows): Promise<void>;
  /** `INSERT INTO … FORMAT Native`, its body in pieces that are sent in order without being joined. */
  insertNative(
    query: string,
    body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options?: QueryOptions,
    parameters?: Parameters,
  ): Promise<void>;
  /**
   * `rows` of each node that the service has an address of. One that does not answer is left out and counts in
   * `silent`; rejects where none answers.
   */
  rowsOfEach(
    query: string,
    parameters?: Parameters,
    options?: QueryOptions,
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly silent: number }>;
  /**
   * Runs `work`, and rejects unless all that the embedded engine has written until its end is on the disk. Writes do this by
   * themselves; a caller that finds rows of an earlier attempt has to.
   */
  checked<T>(work: () => Promise<T>): Promise<T>;
  /**
   * As `readRows`; rejects unless all that the embedded engine has answered as written before is on the disk, if there are rows.
   */
  rowsOnDisk<T>(query: string, parameters?: Parameters, options?: QueryOptions): Promise<T[]>;
  /** True when the engine answers `SELECT 1` in time. */
  ping(timeoutMs: number): Promise<boolean>;
  /** True when changes of control data can be written now. */
  takesControlWrites(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}
