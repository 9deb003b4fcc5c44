import { randomUUID } from 'node:crypto';
import { buffers } from '../base/buffer-pool.ts';
import type { ByteFlow } from '../base/byte-flow.ts';
import { limits } from './limits.ts';
import type { Logger } from '../base/log.ts';
import { createEngineHttp, type EngineHttp, type HttpCall } from './engine-http.ts';
import { createGuardedFlow } from './guarded-flow.ts';
import { exceptionInTail, refusal, shortMessage } from './response-body.ts';
import { EngineError } from '../base/engine-error.ts';
import type { BytesOptions, EngineConnection, HeldBytes, Parameters } from './storage.ts';
import type { QueryOptions, Settings, Storage } from './storage.ts';

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
  readonly body?: Iterable<Uint8Array>;
}

/** Takes the body of an answer of status 200. */
interface AnswerSink {
  /** The answer has begun; `tag` is by what an exception at its end is known. */
  begins(tag: string | undefined): void;
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: EngineError): void;
}

interface Asked {
  resume(): void;
  /** Gives the call up; its sink hears nothing more. */
  destroy(): void;
  /** Milliseconds count only while bytes are wanted and none come, from now on. */
  limitSilence(): void;
}

/**
 * Sends a call and tells its sink what comes of it: exactly one of `end` and `failed`, unless it is given up. Ends
 * the call when the caller's signal fires or its time is over.
 */
function ask(http: EngineHttp, target: string, call: Call, sink: AnswerSink): Asked {
  const { signal } = call.options;
  let state: 'waiting' | 'body' | 'refused' | 'over' = 'waiting';
  let refused = '';
  let status = 0;
  let code: string | undefined;
  let silenceOnly = false;
  let paused = false;

  const over = (): void => {
    state = 'over';
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
  const fail = (error: EngineError): void => {
    if (state === 'over') return;
    over();
    sent.destroy();
    sink.failed(error);
  };
  const onAbort = (): void => fail(new EngineError('aborted', 'the caller ended the request'));
  const timer = setTimeout(() => {
    // A slow reader is not the engine's fault.
    if (silenceOnly && paused) timer.refresh();
    else fail(new EngineError('timeout', `no answer within ${call.timeoutMs} ms`));
  }, call.timeoutMs);

  const sent: HttpCall = http.post(target, call.body ?? call.query, {
    head(answered, headers) {
      status = answered;
      code = headers.get('x-clickhouse-exception-code');
      state = status === 200 ? 'body' : 'refused';
      if (state === 'body') sink.begins(headers.get('x-clickhouse-exception-tag'));
    },
    data(piece) {
      if (state === 'body') {
        if (silenceOnly) timer.refresh();
        // Until `resume`, whatever the sink says to what had been read already.
        if (!sink.data(piece)) paused = true;
        return !paused;
      }
      if (refused.length < limits.engineRefusalBytesMax) refused += Buffer.from(piece).toString('utf8');
      return true;
    },
    end() {
      if (state === 'over') return;
      const wasRefused = state === 'refused';
      over();
      if (wasRefused) sink.failed(refusal(status, code, refused));
      else sink.end();
    },
    failed(error) {
      const text = shortMessage(error.message);
      const shown = 'code' in error && text === '' ? String(error.code) : text;
      fail(new EngineError('unreachable', shown, undefined, error));
    },
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    resume: () => {
      if (!paused) return;
      paused = false;
      timer.refresh();
      sent.resume();
    },
    destroy: () => {
      if (state === 'over') return;
      over();
      sent.destroy();
    },
    limitSilence: () => {
      if (state === 'over') return;
      silenceOnly = true;
      timer.refresh();
    },
  };
}

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

/** Path and query of a call; the SQL goes into the body, unless that is taken. */
function targetOf(path: string, database: string, queryId: string, call: Call): string {
  let target = `${path}/?query_id=${encodeURIComponent(queryId)}`;
  if (call.body !== undefined) target += `&query=${encodeURIComponent(call.query)}`;
  const add = (name: string, text: string): void => {
    target += `&${name}=${encodeURIComponent(text)}`;
  };
  const settings: Settings = { database, ...call.settings, ...call.options.settings };
  for (const name of Object.keys(settings)) add(name, String(settings[name]));
  for (const name of Object.keys(call.parameters)) {
    add(`param_${name}`, parameterText(call.parameters[name]));
  }
  return target;
}

function reach({ url, user, password, headers }: EngineConnection): EngineHttp {
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  return createEngineHttp(new URL(url), { Authorization: `Basic ${credentials}`, ...headers });
}

/** Objects of a JSONEachRow body. */
function parseRows<T>(text: string): T[] {
  const rows: T[] = [];
  try {
    for (const line of text.split('\n')) {
      if (line !== '') rows.push(JSON.parse(line) as T);
    }
  } catch (error) {
    // Not an engine, or not all of its answer.
    throw new EngineError('unreachable', 'the answer is not rows of JSON', undefined, error);
  }
  return rows;
}

/** Gathers a whole body of at most `bytesMax`. */
function createCollector(
  bytesMax: number,
  done: (bytes: Buffer) => void,
  failed: (error: EngineError) => void,
): AnswerSink {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let tag: string | undefined;
  return {
    begins: (given) => void (tag = given),
    data(piece) {
      bytes += piece.length;
      if (bytes <= bytesMax) pieces.push(Buffer.from(piece));
      return true;
    },
    end() {
      if (bytes > bytesMax) {
        return failed(new EngineError('refused', `the result is larger than ${bytesMax} bytes`));
      }
      const whole = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, bytes);
      const failure = exceptionInTail(whole.subarray(-limits.engineTailBytes), tag);
      if (failure === undefined) done(whole);
      else failed(failure);
    },
    failed,
  };
}

/** Gathers a body in one used-again buffer, with room before and behind; what becomes too large goes on as a flow. */
function createHolder(
  asked: () => Asked,
  { headroom, tailroom, bytesMax }: BytesOptions,
  done: (result: HeldBytes | ByteFlow) => void,
  failed: (error: EngineError) => void,
): AnswerSink {
  let held = new Uint8Array(buffers.take(headroom + tailroom + limits.engineReadBytes));
  let end = headroom;
  let tag: string | undefined;
  let guarded: ReturnType<typeof createGuardedFlow> | undefined;
  const grow = (bytes: number): void => {
    const larger = new Uint8Array(buffers.take(Math.max(bytes, held.length * 2)));
    larger.set(held.subarray(headroom, end), headroom);
    buffers.give(held.buffer);
    held = larger;
  };
  const release = (): void => buffers.give(held.buffer);
  return {
    begins: (given) => void (tag = given),
    data(piece) {
      if (guarded !== undefined) return guarded.sink.data(piece);
      if (end - headroom + piece.length > bytesMax) {
        guarded = createGuardedFlow(asked());
        guarded.tagged(tag);
        asked().limitSilence();
        guarded.sink.data(held.subarray(headroom, end));
        const wanted = guarded.sink.data(piece);
        release();
        done(guarded.flow);
        return wanted;
      }
      if (end + piece.length + tailroom > held.length) grow(end + piece.length + tailroom);
      held.set(piece, end);
      end += piece.length;
      return true;
    },
    end() {
      if (guarded !== undefined) return guarded.sink.end();
      const failure = exceptionInTail(
        held.subarray(Math.max(headroom, end - limits.engineTailBytes), end),
        tag,
      );
      if (failure === undefined) return done({ buffer: held, start: headroom, end, release });
      release();
      failed(failure);
    },
    failed(error) {
      if (guarded !== undefined) return guarded.sink.failed(error);
      release();
      failed(error);
    },
  };
}

/**
 * Opens the storage at a connection. Nothing is sent until the first call. A connection stays good over restarts of
 * the engine behind it. Every rejection, and every failure of a flow, is an EngineError.
 *
 * Time limits are milliseconds: `readQueryMsMax` for reads, `insertMsMax` for writes unless the call names one. They
 * span a whole call, except in `flow()`: there they span the time to the answer's header and, after that, any time
 * without a byte while the reader waits for one.
 */
export function openStorage(connection: EngineConnection, log: Logger): Storage {
  const http = reach(connection);
  // A proxy may stand before the engine.
  const path = new URL(connection.url).pathname.replace(/\/+$/, '');

  const send = async <T>(
    call: Call,
    sinkFor: (
      asked: () => Asked,
      done: (result: T) => void,
      failed: (error: EngineError) => void,
    ) => AnswerSink,
  ): Promise<T> => {
    const queryId = call.options.queryId ?? randomUUID();
    try {
      if (call.options.signal?.aborted === true)
        throw new EngineError('aborted', 'the caller ended the request');
      return await new Promise<T>((resolve, reject) => {
        const target = targetOf(path, connection.database, queryId, call);
        const asked: Asked = ask(
          http,
          target,
          call,
          sinkFor(() => asked, resolve, reject),
        );
      });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      const facts = { failure: error.failure, engineCode: error.engineCode, error: error.message };
      log.debug({ ...facts, queryId }, 'engine request failed');
      throw error;
    }
  };
  const collected = (call: Call) =>
    send<Buffer>(call, (_, done, failed) => createCollector(limits.engineRowsBytesMax, done, failed));

  const write = async (
    query: string,
    parameters: Parameters,
    options: QueryOptions,
    body?: Iterable<Uint8Array>,
  ) => {
    const timeoutMs = options.timeoutMs ?? limits.insertMsMax;
    const base = { query, parameters, options, timeoutMs, settings: writeSettings };
    await collected(body === undefined ? base : { ...base, body });
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
    const call = { query: `${query}\nFORMAT JSONEachRow`, parameters, settings, options, timeoutMs };
    return parseRows<T>((await collected(call)).toString('utf8'));
  };

  return {
    database: connection.database,
    rows,
    flow: (query, parameters = {}, options = {}) => {
      const timeoutMs = options.timeoutMs ?? limits.readQueryMsMax;
      return send<ByteFlow>(
        { query, parameters, settings: readSettings, options, timeoutMs },
        (asked, done, failed) => {
          const { flow, sink, tagged } = createGuardedFlow({
            resume: () => asked().resume(),
            destroy: () => asked().destroy(),
          });
          let begun = false;
          return {
            ...sink,
            begins(tag) {
              begun = true;
              tagged(tag);
              asked().limitSilence();
              done(flow);
            },
            failed: (error) => (begun ? sink.failed(error) : failed(error)),
          };
        },
      );
    },
    bytes: (query, parameters, options) => {
      const timeoutMs = options.timeoutMs ?? limits.readQueryMsMax;
      const call = { query, parameters, settings: readSettings, options, timeoutMs };
      return send(call, (asked, done, failed) => createHolder(asked, options, done, failed));
    },
    command: async (query, parameters = {}, options = {}) => write(query, parameters, options),
    insertRows: async (table, objects, options = {}) => {
      if (objects.length === 0) return;
      const lines = objects.map((object) => `${JSON.stringify(object)}\n`);
      await write('INSERT INTO {target:Identifier} FORMAT JSONEachRow', { target: table }, options, [
        Buffer.from(lines.join('')),
      ]);
    },
    insertNative: async ({ query, body, options = {} }) => write(query, {}, options, body),
    ping: async (timeoutMs) => {
      try {
        return (await rows('SELECT 1', {}, { timeoutMs })).length === 1;
      } catch (error) {
        if (error instanceof EngineError) return false;
        throw error;
      }
    },
    close: async () => http.close(),
  };
}
