import { strict as assert } from 'node:assert';
import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { holdAnswer } from './openapi.ts';
import { patience } from './patience.ts';

/** A client for black-box tests: it decodes, retries and follows nothing by itself; every wait is bounded. */

const requestTimeoutMsDefault = 15_000;
/** The service closes connections idle for 10 s, so older ones are not reused. */
const idleConnectionMsMax = 5_000;
const firstPauseMs = 20;
const pauseMsMax = 250;
const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: idleConnectionMsMax });

/** Services whose answers are compared with the OpenAPI document. */
const heldOrigins = new Set<string>();

export function holdAnswersOf(url: string): void {
  heldOrigins.add(new URL(url).origin);
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as sent, still encoded. */
  readonly raw: Buffer;
  readonly text: string;
}

export interface HttpCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs?: number;
}

/** Rejects on a broken connection, a truncated body, or after `timeoutMs` (on a quiet machine). */
export async function call(url: string, options: HttpCall = {}): Promise<HttpAnswer> {
  // After a long computation: the first turn finishes the event loop's work, the second notices closed idle
  // connections.
  await setImmediate();
  await setImmediate();
  const answer = await send(url, options);
  const { origin, host } = new URL(url);
  if (heldOrigins.has(origin))
    holdAnswer(options.method ?? 'GET', url.slice(url.indexOf(host) + host.length), answer);
  return answer;
}

function send(url: string, options: HttpCall): Promise<HttpAnswer> {
  const { method = 'GET', headers = {}, body, timeoutMs = requestTimeoutMsDefault } = options;
  const target = new URL(url);
  // Unchanged: URL would normalize the odd escapes of some tests.
  const path = url.slice(url.indexOf(target.host) + target.host.length) || '/';
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        agent,
        method,
        path,
        host: target.hostname,
        port: target.port,
        headers:
          body === undefined ? headers : { 'content-length': String(Buffer.byteLength(body)), ...headers },
        signal: AbortSignal.timeout(patience(timeoutMs)),
      },
      (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on('data', (piece: Buffer) => pieces.push(piece));
        incoming.on('error', reject);
        incoming.on('end', () => {
          if (!incoming.complete) return reject(new Error('the body was cut short'));
          const raw = Buffer.concat(pieces);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            raw,
            text: raw.toString('utf8'),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export interface AuditEvent {
  readonly [member: string]: unknown;
  readonly time: number;
  readonly activity_id: number;
  readonly activity_name: string;
  readonly severity: string;
  readonly severity_id: number;
  readonly status: string;
  readonly status_id: number;
  readonly message: string;
  readonly actor: { readonly user?: Record<string, unknown>; readonly app_name?: string };
  readonly metadata: Record<string, unknown> & { readonly logged_time: number };
  readonly enrichments?: readonly { readonly name: string; readonly value: string }[];
  readonly extra_map?: Record<string, unknown>;
  readonly src_endpoint?: Record<string, unknown>;
  readonly flow_id?: string;
}

export interface Page {
  readonly data: readonly AuditEvent[];
  readonly meta: { readonly total: number; readonly limit: number; readonly offset: number };
}

export interface IngestAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

export interface ProblemBody {
  readonly [member: string]: unknown;
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly request_id: string;
  readonly errors?: IngestAnswer['errors'];
}

/** The envelope of a successful read. */
export function pageOf(answer: HttpAnswer): Page {
  assert.equal(answer.status, 200, `expected a page, got ${answer.status}: ${answer.text.slice(0, 500)}`);
  return JSON.parse(answer.text) as Page;
}

/** The answer of an accepted ingest. */
export function acceptedOf(answer: HttpAnswer): IngestAnswer {
  assert.equal(answer.status, 202, `expected 202, got ${answer.status}: ${answer.text.slice(0, 500)}`);
  return JSON.parse(answer.text) as IngestAnswer;
}

/**
 * The problem body of an answer with this status; checks the contract (Errors): media type, members, request
 * id, no internal text.
 */
export function problemOf(answer: HttpAnswer, status: number): ProblemBody {
  assert.equal(
    answer.status,
    status,
    `expected ${status}, got ${answer.status}: ${answer.text.slice(0, 500)}`,
  );
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json\b/);
  const problem = JSON.parse(answer.text) as ProblemBody;
  assert.equal(problem.type, 'about:blank');
  assert.equal(problem.status, status);
  assert.equal(typeof problem.title, 'string');
  assert.notEqual(problem.title, '');
  assert.equal(typeof problem.detail, 'string');
  assert.notEqual(problem.detail, '');
  assert.equal(typeof problem.request_id, 'string');
  assert.notEqual(problem.request_id, '');
  assert.equal(answer.headers['x-request-id'], problem.request_id);
  assert.doesNotMatch(
    answer.text,
    /clickhouse|chdb|\bSELECT\b|\bINSERT\b|DB::|Code: \d|\bat .*:\d+:\d+|node_modules|\.ts\b|\/tmp\/|ECONN|undefined/i,
  );
  return problem;
}

/** Whole seconds of a required `Retry-After`. */
export function retryAfterOf(answer: HttpAnswer): number {
  const text = String(answer.headers['retry-after']);
  assert.match(text, /^\d+$/, 'Retry-After is whole seconds');
  return Number(text);
}

/**
 * Calls `probe` until it returns a value; fails with `what` after `timeoutMs` (on a quiet machine). Pauses
 * grow, because a probe takes the processor from its subject; `pauseMs` fixes them.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined>,
  timeoutMs = 15_000,
  pauseMs?: number,
): Promise<T> {
  const bounded = patience(timeoutMs);
  const deadline = performance.now() + bounded;
  for (let growingMs = firstPauseMs; ; growingMs = Math.min(growingMs * 1.5, pauseMsMax)) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline)
      throw new Error(`gave up after ${Math.round(bounded)} ms waiting: ${what}`);
    await sleep(pauseMs ?? growingMs);
  }
}

/**
 * Writes raw bytes to a new connection and collects the answer until `until` returns true, or the server
 * closes or is quiet for long. Returns the bytes before a reset.
 */
export function rawExchange(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  until: (text: string) => boolean,
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const received: Buffer[] = [];
    const finish = (closed: boolean) => {
      socket.destroy();
      resolve({ text: Buffer.concat(received).toString('latin1'), closed });
    };
    socket.setTimeout(patience(5000), () => finish(false));
    socket.on('connect', () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.on('data', (piece) => {
      received.push(piece);
      if (until(Buffer.concat(received).toString('latin1'))) finish(false);
    });
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
  });
}
