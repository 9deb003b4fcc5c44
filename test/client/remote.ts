import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

/**
 * A service with this API over fixed data, as the client may meet it: of another vendor, older, or failing in ways
 * that ours cannot on demand.
 */

export interface StoredEvent {
  /** Unix microseconds. */
  readonly time: number;
  /** Members besides the time and the constant ones, as JSON text that begins with a comma, or ''. */
  readonly more?: string;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Handles a request: true if it has answered or cut it. */
export type Fault = (seen: Seen, response: ServerResponse) => boolean | Promise<boolean>;

export interface Remote {
  readonly url: string;
  /** In the order of recording. */
  readonly events: StoredEvent[];
  readonly requests: Seen[];
  /** Stored bodies as lines, one for each idempotency key. */
  readonly stored: string[];
  fault: Fault | undefined;
  close(): Promise<void>;
}

export interface RemoteOptions {
  readonly events?: readonly StoredEvent[];
  /** False: a server without a feed. */
  readonly feed?: boolean;
}

export const remoteKey = 'ak_test_secret';

let answers = 0;

/** A stored event in one answer, with a new `logged_time` each time. */
export function rendered({ time, more = '' }: StoredEvent): string {
  answers += 1;
  const logged = 1_800_000_000_000_000 + answers;
  // Layout may vary between answers.
  const space = answers % 7 === 0 ? ' ' : '';
  return (
    `{"category_uid":3,"time":${time},"activity_id":2001,"message":"of \\"note\\", {[\\\\","actor":{}${more},` +
    `"metadata":{${space}"logged_time":${logged},"product":{"name":"P","vendor_name":"V"},"version":"1.1.0"}}`
  );
}

export function reply(response: ServerResponse, status: number, body: object, headers: object = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
  return true;
}

const number = (query: URLSearchParams, name: string, fallback: number): number =>
  Number(query.get(name) ?? fallback);

/** `YYYY-MM-DDThh:mm:ss.ffffffZ` as microseconds. */
function micros(text: string | null, fallback: number): number {
  if (text === null) return fallback;
  const fraction = /\.(\d+)Z$/.exec(text)?.[1] ?? '';
  const seconds = Date.parse(text.replace(/\.\d+Z$/, 'Z')) / 1000;
  return seconds * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

function page(events: readonly StoredEvent[], query: URLSearchParams, response: ServerResponse): void {
  const from = micros(query.get('startTime'), 0);
  const to = micros(query.get('endTime'), Number.MAX_SAFE_INTEGER);
  const matching = events
    .map((event, index) => ({ event, index }))
    .filter(({ event }) => event.time >= from && event.time <= to)
    .sort((a, b) => b.event.time - a.event.time || b.index - a.index);
  const limit = Math.min(1000, number(query, 'limit', 50));
  const offset = number(query, 'offset', 0);
  const data = matching.slice(offset, offset + limit).map(({ event }) => rendered(event));
  const meta = { total: matching.length, limit, offset };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"data":[${data.join(',')}],"meta":${JSON.stringify(meta)}}`);
}

async function feed(remote: Remote, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const cursor = query.get('cursor') ?? 'c0';
  const from = /^c(\d+)$/.exec(cursor)?.[1];
  if (from === undefined) {
    reply(response, 400, { title: 'Bad Request', status: 400, detail: 'The cursor is not one.' });
    return;
  }
  const limit = Math.min(1000, number(query, 'limit', 50));
  const deadline = performance.now() + number(query, 'wait', 0) * 1000;
  const start = Number(from);
  while (remote.events.length <= start && performance.now() < deadline && !response.destroyed)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const data = remote.events.slice(start, start + limit);
  const next = start + data.length;
  const meta = {
    next_cursor: `c${next}`,
    has_more: next < remote.events.length,
    settled_through: Date.now() * 1000,
    read_through: (Date.now() - 100_000) * 1000,
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"data":[${data.map(rendered).join(',')}],"meta":${JSON.stringify(meta)}}`);
}

export async function startRemote(options: RemoteOptions = {}): Promise<Remote> {
  const answered = new Map<string, object>();
  const server = createServer((request, response) => {
    void handle(request, response);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://remote');
    const input = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
    const body = await readText(input);
    const seen: Seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    remote.requests.push(seen);
    if ((await remote.fault?.(seen, response)) === true) return;
    if (request.headers['x-api-key'] !== remoteKey)
      reply(response, 401, { title: 'Unauthorized', status: 401, detail: 'No such key.' });
    else if (url.pathname === '/api/v1/audit' && request.method === 'POST') record(seen, response);
    else if (url.pathname === '/api/v1/audit') page(remote.events, url.searchParams, response);
    else if (url.pathname === '/api/v1/audit/feed' && options.feed !== false)
      await feed(remote, url.searchParams, response);
    else reply(response, 404, { title: 'Not Found', status: 404 });
  }

  function record(seen: Seen, response: ServerResponse): void {
    const key = String(seen.headers['idempotency-key']);
    let answer = answered.get(key);
    if (answer === undefined) {
      const lines = seen.body.split('\n');
      const errors = lines.flatMap((line, index) =>
        line.includes('"msg":"bad"') ? [{ index, error: '/msg: is bad' }] : [],
      );
      remote.stored.push(...lines.filter((line) => !line.includes('"msg":"bad"')));
      const named = errors.slice(0, number(seen.query, 'maxErrors', 100));
      answer = { accepted: lines.length - errors.length, rejected: errors.length, errors: named };
      answered.set(key, answer);
    }
    const nothing = (answer as { accepted: number }).accepted === 0;
    reply(response, nothing ? 400 : 202, nothing ? { title: 'Bad Request', status: 400, ...answer } : answer);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const remote: Remote = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events: [...(options.events ?? [])],
    requests: [],
    stored: [],
    fault: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return remote;
}
