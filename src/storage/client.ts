import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { collect, guardBody, shortMessage } from './response-body.ts';
import { EngineError } from './storage.ts';
import type { EngineConnection, Parameters, QueryOptions, Settings, Storage } from './storage.ts';

/** Reads are cancelled by the engine when the connection goes; it does that for read-only queries alone. */
const readSettings: Settings = {
  readonly: 2,
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
  // One read out of bounds must fail by itself, before it makes others fail for want of memory.
  max_memory_usage: limits.readMemoryBytesMax,
};

/**
 * A write is acknowledged when it is stored: never gathered by the engine (which is its default by now), never
 * queued by a Distributed table, and answered only once its outcome is known.
 */
const writeSettings: Settings = {
  async_insert: 0,
  distributed_foreground_insert: 1,
  wait_end_of_query: 1,
};

interface Call {
  readonly query: string;
  readonly parameters: Parameters;
  readonly settings: Settings;
  readonly options: QueryOptions;
  readonly timeoutMs: number;
  readonly body?: Readable;
}

interface Answer {
  readonly body: Readable;
  readonly queryId: string;
  /** Ends the time limit of the call; the caller's signal keeps its effect until the body is closed. */
  unlimit(): void;
}

type Client = ReturnType<typeof createClient>;

/** What ends a call early: the caller's signal or the clock; the signal's reason is the EngineError to reject with. */
function createStop(signal: AbortSignal | undefined, timeoutMs: number) {
  const controller = new AbortController();
  const onAbort = (): void => {
    controller.abort(new EngineError('aborted', 'the caller ended the request'));
  };
  const timer = setTimeout(() => {
    controller.abort(new EngineError('timeout', `no answer within ${timeoutMs} ms`));
  }, timeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return {
    signal: controller.signal,
    unlimit: (): void => clearTimeout(timer),
    release: (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

function toEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof ClickHouseError) {
    const code = Number(error.code);
    const known = Number.isSafeInteger(code);
    return new EngineError(
      'refused',
      shortMessage(`${error.type ?? ''} ${error.message}`),
      known ? code : undefined,
    );
  }
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new EngineError('unreachable', shortMessage(text === '' ? code : text), undefined, error);
}

/** The client treats a path in the URL as a database; ours may stand behind a proxy's path. */
function createEngineClient(connection: EngineConnection): Client {
  const url = new URL(connection.url);
  const pathname = url.pathname.replace(/^\/+|\/+$/g, '');
  url.pathname = '';
  return createClient({
    url,
    ...(pathname === '' ? {} : { pathname }),
    username: connection.user,
    password: connection.password,
    http_headers: { ...connection.headers },
    // Named with each request instead, so that the database itself can be created.
    database: 'default',
    max_open_connections: limits.engineConnectionsMax,
    // The client's own limit is a socket's idle time, which would also cut an export whose reader is slow.
    request_timeout: 0,
    compression: { request: false, response: false },
    // Shorter than any engine keeps an idle connection (3 s at least), so none is reused as it is being closed.
    keep_alive: { enabled: true, idle_socket_ttl: 2500, eagerly_destroy_stale_sockets: true },
    log: { level: ClickHouseLogLevel.OFF },
  });
}

async function send(client: Client, database: string, call: Call): Promise<Answer> {
  const stop = createStop(call.options.signal, call.timeoutMs);
  const queryId = call.options.queryId ?? randomUUID();
  try {
    stop.signal.throwIfAborted();
    const result = await client.exec({
      query: call.query,
      query_params: { ...call.parameters },
      query_id: queryId,
      abort_signal: stop.signal,
      clickhouse_settings: { database, ...call.settings, ...call.options.settings },
      ...(call.body === undefined ? {} : { values: call.body }),
    });
    const tag = result.response_headers['x-clickhouse-exception-tag'];
    const body = guardBody(result.stream, {
      tag: Array.isArray(tag) ? tag[0] : tag,
      stallMs: call.timeoutMs,
    });
    // A result can fail before its reader listens. The stream keeps the error for that reader; it must not end the
    // process for want of a listener.
    body.on('error', () => undefined);
    const onStop = (): void => {
      body.destroy(toEngineError(stop.signal.reason));
    };
    if (stop.signal.aborted) onStop();
    else stop.signal.addEventListener('abort', onStop, { once: true });
    body.once('close', stop.release);
    return { body, queryId, unlimit: stop.unlimit };
  } catch (error) {
    stop.release();
    call.body?.destroy();
    throw toEngineError(stop.signal.aborted ? stop.signal.reason : error);
  }
}

/** Objects of a JSONEachRow body. */
function parseRows<T>(text: string): T[] {
  const rows: T[] = [];
  for (const line of text.split('\n')) {
    if (line !== '') rows.push(JSON.parse(line) as T);
  }
  return rows;
}

/**
 * Opens the storage at a connection. Nothing is sent until the first call. A connection stays good over restarts of
 * the engine behind it. Every rejection, and every `error` event of a stream, is an EngineError.
 *
 * Time limits are milliseconds: `readQueryMsMax` for reads, `insertMsMax` for writes unless the call names one. They
 * span a whole call, except in `stream()`: there they span the time to the answer's header and, after that, any time
 * without a byte while the reader waits for one.
 */
export function openStorage(connection: EngineConnection, log: Logger): Storage {
  const client = createEngineClient(connection);

  const call = async <T>(details: Call, use: (answer: Answer) => Promise<T> | T): Promise<T> => {
    try {
      return await use(await send(client, connection.database, details));
    } catch (error) {
      const failure = toEngineError(error);
      const facts = { failure: failure.failure, engineCode: failure.engineCode, error: failure.message };
      log.debug({ ...facts, queryId: details.options.queryId }, 'engine request failed');
      throw failure;
    }
  };

  const write = async (query: string, parameters: Parameters, options: QueryOptions, body?: Readable) => {
    const timeoutMs = options.timeoutMs ?? limits.insertMsMax;
    const base = { query, parameters, options, timeoutMs, settings: writeSettings };
    await call(body === undefined ? base : { ...base, body }, (answer) =>
      collect(answer.body, limits.engineRowsBytesMax),
    );
  };

  const rows = async <T>(
    query: string,
    parameters: Parameters = {},
    options: QueryOptions = {},
  ): Promise<T[]> => {
    const timeoutMs = options.timeoutMs ?? limits.readQueryMsMax;
    const settings = {
      ...readSettings,
      output_format_json_quote_64bit_integers: 1,
      max_execution_time: Math.ceil(timeoutMs / 1000),
    };
    const details = { query: `${query}\nFORMAT JSONEachRow`, parameters, settings, options, timeoutMs };
    return call(details, async (answer) =>
      parseRows<T>((await collect(answer.body, limits.engineRowsBytesMax)).toString('utf8')),
    );
  };

  return {
    database: connection.database,
    rows,
    stream: async (query, parameters = {}, options = {}) => {
      const timeoutMs = options.timeoutMs ?? limits.readQueryMsMax;
      return call({ query, parameters, settings: readSettings, options, timeoutMs }, (answer) => {
        answer.unlimit();
        return { stream: answer.body, queryId: answer.queryId };
      });
    },
    command: async (query, parameters = {}, options = {}) => write(query, parameters, options),
    insertRows: async (table, objects, options = {}) => {
      if (objects.length === 0) return;
      const lines = objects.map((object) => `${JSON.stringify(object)}\n`);
      const body = Readable.from([Buffer.from(lines.join(''))], { objectMode: false });
      await write(`INSERT INTO {target:Identifier} FORMAT JSONEachRow`, { target: table }, options, body);
    },
    insertNative: async ({ query, body, options = {} }) =>
      write(query, {}, options, Readable.from(body, { objectMode: false })),
    ping: async (timeoutMs) => {
      try {
        return (await rows('SELECT 1', {}, { timeoutMs })).length === 1;
      } catch (error) {
        if (error instanceof EngineError) return false;
        throw error;
      }
    },
    close: async () => client.close(),
  };
}
