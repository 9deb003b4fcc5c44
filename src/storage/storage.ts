import type { ByteFlow } from '../base/bytes/byte-flow.ts';

/** How to reach an engine over HTTP; `DATA_DIR/engine.json` has this and the pid. */
export interface EngineConnection {
  readonly url: string;
  readonly otherUrls?: readonly string[] | undefined;
  readonly cluster?: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Settings = Readonly<Record<string, string | number>>;

/**
 * Nodes to read together, from 0 as clusterAllReplicas counts them, for each value of the sharding key modulo their number. Nodes
 * that answered lately come first.
 */
export type ReadSets = readonly (readonly number[])[];

/** Bound as typed query parameters (`{name:Type}`), never spliced into SQL. */
export type Parameters = Readonly<Record<string, unknown>>;

export interface QueryOptions {
  readonly settings?: Settings;
  readonly signal?: AbortSignal;
  readonly queryId?: string;
  readonly timeoutMs?: number;
}

export interface BytesOptions extends QueryOptions {
  readonly headroom: number;
  readonly tailroom: number;
  readonly bytesMax: number;
}

/** A result in pooled memory, `buffer` from `start` to `end`; its owner may change it. */
export interface HeldBytes {
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
  /** Call at most once; the memory must not be used afterwards. */
  release(): void;
}

/**
 * All storage: one engine, one protocol. Every rejection is an EngineError. With several addresses, reads and
 * rows of control tables move on to the next node; commands and INSERTs of events do not, as they may have
 * taken effect.
 */
export interface Storage {
  readonly database: string;
  readonly cluster: string | undefined;
  /** The engine is a child of this process, and nobody else writes control data. */
  readonly isOwn: boolean;
  /** Rows parsed from JSONEachRow; 64-bit integers are strings. */
  rows<T>(query: string, parameters?: Parameters, options?: QueryOptions): Promise<T[]>;
  /** As `rows`, at a fifth of the processor time, for frequent queries. */
  readRows<T>(query: string, parameters?: Parameters, options?: QueryOptions): Promise<T[]>;
  /**
   * The bytes of a result in the SQL's format. Resolves when the engine answers 200. A later failure fails
   * the flow, and its message is not in the bytes. Destroying the flow cancels the query.
   */
  flow(query: string, parameters?: Parameters, options?: QueryOptions): Promise<ByteFlow>;
  /** Buffers the result; beyond `bytesMax` it becomes a flow of all of it. */
  bytes(query: string, parameters: Parameters, options: BytesOptions): Promise<HeldBytes | ByteFlow>;
  command(query: string, parameters?: Parameters, options?: QueryOptions): Promise<void>;
  insertRows(table: string, rows: readonly object[], options?: QueryOptions): Promise<void>;
  removeRows(table: string, rows: { readonly column: string; readonly id: string }): Promise<void>;
  /** `INSERT INTO … FORMAT Native`; body pieces are sent in order without joining. */
  insertNative(
    query: string,
    body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options?: QueryOptions,
    parameters?: Parameters,
  ): Promise<void>;
  /**
   * `rows` of each node with an address. Nodes without an answer count in `silent`; rejects if none answers.
   */
  rowsOfEach(
    query: string,
    parameters?: Parameters,
    options?: QueryOptions,
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly silent: number }>;
  /** Undefined where each replica has every acknowledged event. */
  readSets(): Promise<ReadSets | undefined>;
  /**
   * Rejects unless all writes of the embedded engine until the end of `work` are on disk. Writes check this
   * by themselves; a caller that finds rows of an earlier INSERT must.
   */
  checked<T>(work: () => Promise<T>): Promise<T>;
  ping(timeoutMs: number): Promise<boolean>;
  takesControlWrites(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}
