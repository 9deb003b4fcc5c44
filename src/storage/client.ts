import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/observability/log.ts';
import { traced } from '../base/observability/trace.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { tokenHeader } from './engine-config.ts';
import { Quorum } from './cluster.ts';
import { checkedWrite, type EnginePid } from './engine-writes.ts';
import { limits } from './limits.ts';
import { type EngineNode, EngineNodes } from './nodes.ts';
import { quoteIdentifier } from './quote.ts';
import { ReadReplicas } from './replica-reads.ts';
import { type Read, readBytes, readFlow } from './result-flow.ts';
import { rewritesOff } from './rewrites.ts';
import type { Statement } from './statement-client.ts';
import type { EngineConnection, Parameters, QueryOptions, Settings, Storage } from './storage.ts';

const readQueryMsMax = 30_000;
const readMemoryBytesMax = 768 * 1024 * 1024;

/** The engine cancels queries of closed connections, but only read-only ones. */
const readSettings: Settings = {
  readonly: 2,
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
  // A read beyond this must fail by itself, before others fail for lack of memory.
  max_memory_usage: readMemoryBytesMax,
};

/** The format is a setting, as some statements, such as CHECK GRANT, take no FORMAT. */
const rowSettings = (timeoutMs: number): Settings => ({
  ...readSettings,
  default_format: 'JSONEachRow',
  output_format_json_quote_64bit_integers: 1,
  max_execution_time: Math.ceil(timeoutMs / 1000),
});

/**
 * A write is answered when it is stored: never batched by the engine (its default), nor queued by a
 * Distributed table.
 */
const writeSettings: Settings = { async_insert: 0, distributed_foreground_insert: 1, wait_end_of_query: 1 };

const clusterReadSettings: Settings = { optimize_skip_unused_shards: 1 };

const escapes: Readonly<Record<string, string>> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '\\': '\\\\',
};
const escaped = (text: string): string => text.replaceAll(/[\t\n\r'\\]/g, (one) => escapes[one] ?? one);

function parameterText(value: unknown): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (!Array.isArray(value)) throw new TypeError('A query parameter is neither text, number nor list');
  const items: readonly unknown[] = value;
  return `[${items.map((item) => (typeof item === 'string' ? `'${escaped(item)}'` : parameterText(item))).join(',')}]`;
}

function parseRows<T>(text: string): T[] {
  try {
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
  } catch (error) {
    throw new EngineError('unreachable', 'The answer is not rows of JSON', undefined, error);
  }
}

/**
 * Connects with the first call, and survives restarts of the engine. Every failure is an EngineError. Time limits (ms) cover a
 * whole call, but for `flow()` the time to the head, then any silence while the reader waits.
 */
export function openStorage(
  connection: EngineConnection,
  log: Logger,
  { pid, onDamagedPart }: { readonly pid?: EnginePid; onDamagedPart?(part: string): void } = {},
): Storage {
  return new EngineStorage(connection, log, pid, (error, queryId) => {
    const facts = { failure: error.failure, engineCode: error.engineCode, error: error.message };
    log.debug({ ...facts, queryId }, 'Engine request failed');
    if (error.damagedPart !== undefined) onDamagedPart?.(error.damagedPart);
  });
}

class EngineStorage implements Storage {
  readonly database: string;
  readonly cluster: string | undefined;
  readonly isOwn: boolean;
  readonly #nodes: EngineNodes;
  readonly #quorum = new Quorum(this);
  readonly readSets: Storage['readSets'] = new ReadReplicas(this).sets;
  /** A ClickHouse server reports failed writes; the embedded engine does not. */
  readonly #isEmbedded: boolean;
  readonly #pid: EnginePid | undefined;
  readonly #onFailure: (error: EngineError, queryId: string) => void;

  constructor(
    connection: EngineConnection,
    log: Logger,
    pid: EnginePid | undefined,
    onFailure: (error: EngineError, queryId: string) => void,
  ) {
    this.database = connection.database;
    this.cluster = connection.cluster;
    this.#isEmbedded = connection.headers[tokenHeader] !== undefined;
    this.isOwn = pid !== undefined;
    this.#pid = pid;
    this.#nodes = new EngineNodes(connection, log);
    this.#onFailure = onFailure;
  }

  readonly rows: Storage['rows'] = <T>(
    query: string,
    parameters: Parameters = {},
    options: QueryOptions = {},
  ) =>
    traced('engine', () =>
      this.#nodes.anywhere(options.signal, (node, signal) =>
        this.#rowsOf<T>(node, signal, query, parameters, options),
      ),
    );

  readonly rowsOfEach: Storage['rowsOfEach'] = async (query, parameters = {}, options = {}) => {
    const asked = this.#nodes.all.map((node) =>
      this.#nodes
        .once(
          options.signal,
          (_, signal) => this.#rowsOf<ResultRow>(node, signal, query, parameters, options),
          node,
        )
        .then((rows): Answer => ({ rows }), unlessSilent),
    );
    const answers = await Promise.all(asked);
    const silent = answers.flatMap(({ error }) => error ?? []);
    if (silent[0] !== undefined && silent.length === answers.length) throw silent[0];
    return { rows: answers.flatMap(({ rows }) => rows), silent: silent.length };
  };

  readonly readRows: Storage['readRows'] = async <T>(
    query: string,
    parameters: Parameters = {},
    options: QueryOptions = {},
  ) => {
    const settings = { ...this.#rowSettings(options), ...options.settings };
    const whole = { ...options, settings, headroom: 0, tailroom: 0, bytesMax: limits.engineRowsBytesMax };
    const result = await this.bytes(query, parameters, whole);
    if (!('release' in result)) {
      result.destroy();
      throw new EngineError('refused', `The result is larger than ${limits.engineRowsBytesMax} bytes`);
    }
    const { buffer, start, end, release } = result;
    const text = Buffer.from(buffer.buffer, start, end - start).toString('utf8');
    release();
    return parseRows<T>(text);
  };

  readonly flow: Storage['flow'] = (query, parameters = {}, options = {}) =>
    traced('engine', () =>
      this.#nodes.anywhere(options.signal, (node, signal) =>
        readFlow(node.reader, this.#read(node, signal, query, parameters, options)),
      ),
    );

  readonly bytes: Storage['bytes'] = (query, parameters, options) =>
    traced('engine', () =>
      this.#nodes.anywhere(options.signal, (node, signal) =>
        readBytes(node.reader, this.#read(node, signal, query, parameters, options), options),
      ),
    );

  readonly command: Storage['command'] = async (query, parameters = {}, options = {}) => {
    await this.#nodes.once(options.signal, (node, signal) =>
      this.#write(node, signal, query, parameters, options),
    );
  };

  readonly insertRows: Storage['insertRows'] = async (table, objects, options = {}) => {
    if (objects.length === 0) return;
    const lines = Buffer.from(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
    const query = 'INSERT INTO {target:Identifier} FORMAT JSONEachRow';
    const settings = { ...(await this.#quorum.settings(table)), ...options.settings };
    await this.#nodes.anywhere(options.signal, (node, signal) =>
      this.#write(node, signal, query, { target: table }, { ...options, settings }, [lines]),
    );
  };

  readonly removeRows: Storage['removeRows'] = async (table, rows) => {
    const { column, id } = rows;
    const statement = `ALTER TABLE ${quoteIdentifier(table)} DELETE WHERE ${quoteIdentifier(column)} = {id:UUID}`;
    await this.command(statement, { id }, { settings: { mutations_sync: 2 } });
  };

  readonly insertNative: Storage['insertNative'] = async (query, body, options = {}, parameters = {}) => {
    const table = /^INSERT INTO (\w+)/.exec(query)?.[1] ?? '';
    const settings = { ...(await this.#quorum.settings(table)), ...options.settings };
    await this.#nodes.once(options.signal, (node, signal) =>
      this.#write(node, signal, query, parameters, { ...options, settings }, body),
    );
  };

  readonly checked: Storage['checked'] = (work) =>
    this.#isEmbedded ? checkedWrite(this, work, this.#pid) : work();

  readonly ping: Storage['ping'] = (timeoutMs) =>
    this.rows('SELECT 1', {}, { timeoutMs }).then(
      (found) => found.length === 1,
      () => false,
    );

  readonly takesControlWrites: Storage['takesControlWrites'] = async (timeoutMs) => {
    // Without rows, so it creates no part.
    const query = 'INSERT INTO journal SELECT * FROM journal WHERE 0';
    try {
      await this.#nodes.anywhere(undefined, (node, signal) =>
        this.#write(node, signal, query, {}, { timeoutMs }),
      );
      return true;
    } catch {
      return false;
    }
  };

  readonly close: Storage['close'] = () => this.#nodes.close();

  #rowSettings({ timeoutMs = readQueryMsMax }: QueryOptions): Settings {
    return { ...rowSettings(timeoutMs), ...(this.cluster === undefined ? {} : clusterReadSettings) };
  }

  async #rowsOf<T>(
    node: EngineNode,
    signal: AbortSignal | undefined,
    query: string,
    parameters: Parameters,
    options: QueryOptions,
  ): Promise<T[]> {
    const timed = { ...options, timeoutMs: options.timeoutMs ?? readQueryMsMax };
    return parseRows<T>(await this.#run(node, signal, query, parameters, timed, this.#rowSettings(options)));
  }

  async #write(
    node: EngineNode,
    signal: AbortSignal | undefined,
    query: string,
    parameters: Parameters,
    options: QueryOptions,
    body?: Statement['body'],
  ): Promise<void> {
    const timed = { timeoutMs: limits.insertMsMax, ...options };
    await this.checked(() => this.#run(node, signal, query, parameters, timed, writeSettings, body));
  }

  #run(
    node: EngineNode,
    signal: AbortSignal | undefined,
    query: string,
    parameters: Parameters,
    options: QueryOptions & { readonly timeoutMs: number },
    defaults: Settings,
    body?: Statement['body'],
  ): Promise<string> {
    const settings = this.#settings(defaults, options);
    const onFailure = this.#onFailure;
    return node.statements.run({
      ...options,
      ...(signal === undefined ? {} : { signal }),
      query,
      parameters,
      settings,
      body,
      onFailure,
    });
  }

  #settings(defaults: Settings, options: QueryOptions): Settings {
    return { database: this.database, ...rewritesOff, ...defaults, ...options.settings };
  }

  #read(
    node: EngineNode,
    signal: AbortSignal | undefined,
    query: string,
    parameters: Parameters,
    options: QueryOptions,
  ): Read {
    const queryId = options.queryId ?? randomUUID();
    let target = `${node.path}/?query_id=${encodeURIComponent(queryId)}`;
    const ofCluster = this.cluster === undefined ? {} : clusterReadSettings;
    const settings = this.#settings({ ...readSettings, ...ofCluster }, options);
    for (const [name, value] of Object.entries(settings)) target += `&${name}=${encodeURIComponent(value)}`;
    for (const [name, value] of Object.entries(parameters)) {
      target += `&param_${name}=${encodeURIComponent(parameterText(value))}`;
    }
    const { timeoutMs = readQueryMsMax } = options;
    return { target, query, timeoutMs, signal, onFailure: (error) => this.#onFailure(error, queryId) };
  }
}

type ResultRow = Record<string, unknown>;

interface Answer {
  readonly rows: readonly ResultRow[];
  readonly error?: EngineError;
}

/** UNKNOWN_TABLE and UNKNOWN_DATABASE: a server that has lost its disk. */
const emptyCodes: ReadonlySet<number | undefined> = new Set([60, 81]);

function unlessSilent(error: unknown): Answer {
  if (!(error instanceof EngineError)) throw error;
  const { failure, engineCode } = error;
  if (failure === 'unreachable' || failure === 'timeout' || emptyCodes.has(engineCode))
    return { rows: [], error };
  throw error;
}
