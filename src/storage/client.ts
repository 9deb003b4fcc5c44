import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/log.ts';
import { traced } from '../base/trace.ts';
import { EngineError } from '../base/engine-error.ts';
import { ByteReader } from './byte-reader.ts';
import { limits } from './limits.ts';
import { type Read, readBytes, readFlow } from './result-flow.ts';
import { StatementClient } from './statement-client.ts';
import type { EngineConnection, Parameters } from './storage.ts';
import type { QueryOptions, Settings, Storage } from './storage.ts';

/** Reads are cancelled by the engine when the connection goes; it does that for read-only queries alone. */
const readSettings: Settings = {
  readonly: 2,
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
  // One read out of bounds must fail by itself, before it makes others fail for want of memory.
  max_memory_usage: limits.readMemoryBytesMax,
};

/** Of small results; some statements, such as CHECK GRANT, take no FORMAT. */
const rowSettings = (timeoutMs: number): Settings => ({
  ...readSettings,
  default_format: 'JSONEachRow',
  output_format_json_quote_64bit_integers: 1,
  max_execution_time: Math.ceil(timeoutMs / 1000),
});

/**
 * A write is acknowledged when it is stored: never gathered by the engine (which is its default by now), never
 * queued by a Distributed table, and answered only once its outcome is known.
 */
const writeSettings: Settings = {
  async_insert: 0,
  distributed_foreground_insert: 1,
  wait_end_of_query: 1,
};

const escapes: Readonly<Record<string, string>> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '\\': '\\\\',
};
const escaped = (text: string): string => text.replaceAll(/[\t\n\r'\\]/g, (one) => escapes[one] ?? one);

/** A value as the engine reads a query parameter: escaped as in its TSV, strings within an array in quotation marks. */
function parameterText(value: unknown): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (!Array.isArray(value)) throw new TypeError('a query parameter is neither text, number nor list');
  const items: readonly unknown[] = value;
  return `[${items.map((item) => (typeof item === 'string' ? `'${escaped(item)}'` : parameterText(item))).join(',')}]`;
}

/** Objects of a JSONEachRow body. */
function parseRows<T>(text: string): T[] {
  try {
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
  } catch (error) {
    // Not an engine, or not all of its answer.
    throw new EngineError('unreachable', 'the answer is not rows of JSON', undefined, error);
  }
}

/**
 * Opens the storage at a connection. Nothing is sent until the first call. A connection stays good over restarts of
 * the engine behind it. Every rejection, and every failure of a flow, is an EngineError.
 *
 * Time limits are milliseconds: `readQueryMsMax` for reads, `insertMsMax` for writes unless the call names one. They
 * span a whole call, except in `flow()`: there they span the time to the answer's header and, after that, any time
 * without a byte while the reader waits for one.
 *
 * @param onDamagedPart hears the name of a damaged part each time that it has ended a read
 */
export function openStorage(
  connection: EngineConnection,
  log: Logger,
  onDamagedPart: (part: string) => void = () => undefined,
): Storage {
  return new EngineStorage(connection, (error, queryId) => {
    const facts = { failure: error.failure, engineCode: error.engineCode, error: error.message };
    log.debug({ ...facts, queryId }, 'engine request failed');
    if (error.damagedPart !== undefined) onDamagedPart(error.damagedPart);
  });
}

/** Its methods are properties, so that a test can spread it and replace one. */
class EngineStorage implements Storage {
  readonly database: string;
  readonly #path: string;
  readonly #reader: ByteReader;
  readonly #statements: StatementClient;
  readonly #onFailure: (error: EngineError, queryId: string) => void;

  constructor(connection: EngineConnection, onFailure: (error: EngineError, queryId: string) => void) {
    const { url, database, user, password, headers, tls } = connection;
    this.database = database;
    this.#path = new URL(url).pathname.replace(/\/+$/, '');
    const credentials = Buffer.from(`${user}:${password}`).toString('base64');
    this.#reader = new ByteReader(new URL(url), { Authorization: `Basic ${credentials}`, ...headers }, tls);
    this.#statements = new StatementClient(connection);
    this.#onFailure = onFailure;
  }

  readonly rows: Storage['rows'] = async <T>(
    query: string,
    parameters: Parameters = {},
    options: QueryOptions = {},
  ) => {
    const timeoutMs = options.timeoutMs ?? limits.readQueryMsMax;
    const run = () => this.#run(query, parameters, { ...options, timeoutMs }, rowSettings(timeoutMs));
    return parseRows<T>(await traced('engine', run));
  };

  readonly readRows: Storage['readRows'] = async <T>(
    query: string,
    parameters: Parameters = {},
    options: QueryOptions = {},
  ) => {
    const settings = { ...rowSettings(options.timeoutMs ?? limits.readQueryMsMax), ...options.settings };
    const whole = { ...options, settings, headroom: 0, tailroom: 0, bytesMax: limits.engineRowsBytesMax };
    const result = await this.bytes(query, parameters, whole);
    if (!('release' in result)) {
      result.destroy();
      throw new EngineError('refused', `the result is larger than ${limits.engineRowsBytesMax} bytes`);
    }
    const { buffer, start, end, release } = result;
    const text = Buffer.from(buffer.buffer, start, end - start).toString('utf8');
    release();
    return parseRows<T>(text);
  };

  readonly flow: Storage['flow'] = async (query, parameters = {}, options = {}) =>
    traced('engine', () => readFlow(this.#reader, this.#read(query, parameters, options)));

  readonly bytes: Storage['bytes'] = async (query, parameters, options) =>
    traced('engine', () => readBytes(this.#reader, this.#read(query, parameters, options), options));

  readonly command: Storage['command'] = async (query, parameters = {}, options = {}) => {
    await this.#write(query, parameters, options);
  };

  readonly insertRows: Storage['insertRows'] = async (table, objects, options = {}) => {
    if (objects.length === 0) return;
    const lines = Buffer.from(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
    const query = 'INSERT INTO {target:Identifier} FORMAT JSONEachRow';
    await this.#write(query, { target: table }, options, [lines]);
  };

  readonly insertNative: Storage['insertNative'] = async (query, body, options = {}) => {
    await this.#write(query, {}, options, body);
  };

  readonly ping: Storage['ping'] = (timeoutMs) =>
    this.rows('SELECT 1', {}, { timeoutMs }).then(
      (found) => found.length === 1,
      () => false,
    );

  readonly close: Storage['close'] = async () => {
    this.#reader.close();
    await this.#statements.close();
  };

  #write(
    query: string,
    parameters: Parameters,
    options: QueryOptions,
    body?: Iterable<Uint8Array>,
  ): Promise<string> {
    const timed = { timeoutMs: limits.insertMsMax, ...options };
    return this.#run(query, parameters, timed, writeSettings, body);
  }

  #run(
    query: string,
    parameters: Parameters,
    options: QueryOptions & { readonly timeoutMs: number },
    defaults: Settings,
    body?: Iterable<Uint8Array>,
  ): Promise<string> {
    const settings = { database: this.database, ...defaults, ...options.settings };
    return this.#statements.run({
      ...options,
      query,
      parameters,
      settings,
      body,
      onFailure: this.#onFailure,
    });
  }

  /** The SQL is the body of a read, all else is in the address. */
  #read(query: string, parameters: Parameters, options: QueryOptions): Read {
    const queryId = options.queryId ?? randomUUID();
    let target = `${this.#path}/?query_id=${encodeURIComponent(queryId)}`;
    const settings = { database: this.database, ...readSettings, ...options.settings };
    for (const [name, value] of Object.entries(settings)) target += `&${name}=${encodeURIComponent(value)}`;
    for (const [name, value] of Object.entries(parameters)) {
      target += `&param_${name}=${encodeURIComponent(parameterText(value))}`;
    }
    const { timeoutMs = limits.readQueryMsMax, signal } = options;
    return { target, query, timeoutMs, signal, onFailure: (error) => this.#onFailure(error, queryId) };
  }
}
