import { randomUUID } from 'node:crypto';
import { addAbortSignal, Readable } from 'node:stream';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { EngineError } from '../base/errors/engine-error.ts';
import { exceptionInTail, refusal, unreachable } from './exception.ts';
import { limits } from './limits.ts';
import type { EngineConnection, Parameters, Settings } from './storage.ts';

const statementConnectionsMax = 64;
const statementMsMax = 3_600_000;

export interface Statement {
  readonly query: string;
  readonly parameters: Parameters;
  readonly settings: Settings;
  readonly timeoutMs: number;
  readonly queryId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly body?: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined;
  onFailure?(error: EngineError, queryId: string): void;
}

/**
 * By the official client. Its `exec` leaves the body to us, so that size and total time are bounded; its other methods bound the
 * time to the head only.
 */
export class StatementClient {
  readonly #client: ReturnType<typeof createClient>;

  constructor({ url, user, password, headers }: EngineConnection, keepAlive = true) {
    // The client would take the path for a database; a proxy may add one.
    const { origin, pathname } = new URL(url);
    this.#client = createClient({
      url: origin,
      pathname,
      username: user,
      password,
      http_headers: { ...headers },
      application: 'auditlog',
      max_open_connections: statementConnectionsMax,
      request_timeout: statementMsMax,
      keep_alive: {
        enabled: keepAlive,
        idle_socket_ttl: limits.engineIdleConnectionMs,
        eagerly_destroy_stale_sockets: true,
      },
      log: { level: ClickHouseLogLevel.OFF },
    });
  }

  /** Rejects with an EngineError, after `timeoutMs` at the latest. */
  async run(statement: Statement): Promise<string> {
    const { signal, timeoutMs, queryId = randomUUID() } = statement;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    try {
      ending.signal.throwIfAborted();
      return await this.#exec(statement, queryId, ending.signal);
    } catch (thrown) {
      let error = thrown instanceof EngineError ? thrown : unreachable(thrown);
      if (signal?.aborted === true) error = new EngineError('aborted', 'The caller ended the request');
      else if (ending.signal.aborted) error = new EngineError('timeout', `No answer within ${timeoutMs} ms`);
      statement.onFailure?.(error, queryId);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  async #exec(statement: Statement, queryId: string, end: AbortSignal): Promise<string> {
    const { query, parameters, settings, body } = statement;
    const answer = await this.#client.exec({
      query,
      query_params: { ...parameters },
      query_id: queryId,
      clickhouse_settings: settings,
      abort_signal: end,
      ignore_error_response: true,
      ...(body !== undefined && { values: Readable.from(body, { objectMode: false }) }),
    });
    const text = await collect(addAbortSignal(end, answer.stream));
    const { http_status_code: status = 0, response_headers: headers } = answer;
    const failure =
      status === 200
        ? exceptionInTail(
            text.subarray(-limits.engineTailBytes),
            String(headers['x-clickhouse-exception-tag'] ?? ''),
          )
        : refusal(status, headers['x-clickhouse-exception-code']?.toString(), text.toString('utf8'));
    if (failure !== undefined) throw failure;
    return text.toString('utf8');
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.length;
    if (bytes > limits.engineRowsBytesMax)
      throw new EngineError('refused', `The result is larger than ${limits.engineRowsBytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Over its own connection: a kept one would delay the exit of the engine by seconds. */
export async function askEngine(
  connection: EngineConnection,
  query: string,
  timeoutMs: number,
): Promise<string> {
  const client = new StatementClient(connection, false);
  try {
    return await client.run({ query, parameters: {}, settings: {}, timeoutMs });
  } finally {
    await client.close();
  }
}
