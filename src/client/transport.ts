import { limits } from './limits.ts';
import { AuditlogError, blockedPort } from './error.ts';
import { abortedError, parseRetryAfter } from './retry.ts';

/** Errors of 10,000 events. */
const errorBodyBytesMax = 16 * 1024 * 1024;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly responseBytesMax?: number;
  /** Parameters that the service must not ignore: the answer would contain too much. */
  readonly mayNotIgnore?: readonly string[];
  readonly fetch?: typeof fetch | undefined;
}

export function endpoint(base: URL, path: string, query: object = {}): URL {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') url.searchParams.set(name, String(value));
  }
  return url;
}

/** The path is kept. Throws TypeError for an unusable address. */
export function baseUrl(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TypeError('url: must be an http(s) address');
  if (url.username !== '' || url.password !== '') throw new TypeError('url: must not contain credentials');
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

const decodeText = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

async function readBounded(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > bytesMax) throw new AuditlogError('too_large', `the answer is larger than ${bytesMax} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}

export type Refusals = readonly { readonly index: number; readonly error: string }[];

export function readRefusals(body: unknown): Refusals | undefined {
  const errors = (body as { errors?: unknown } | null)?.errors;
  if (!Array.isArray(errors)) return undefined;
  return errors.filter(
    (one: unknown): one is Refusals[number] =>
      typeof (one as Refusals[number] | null)?.index === 'number' &&
      typeof (one as Refusals[number]).error === 'string',
  );
}

/** Empty for a proxy's page. */
function parseProblem(text: string) {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return {};
  }
  const member = (name: string): string | undefined => {
    const value = (body as Record<string, unknown> | null)?.[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    title: member('title'),
    detail: member('detail'),
    requestId: member('request_id'),
    errors: readRefusals(body),
  };
}

export async function httpError(response: Response): Promise<AuditlogError> {
  const { status, headers } = response;
  const problem = parseProblem(
    await readBounded(response, errorBodyBytesMax)
      .then(decodeText)
      .catch(() => ''),
  );
  const { title = response.statusText, detail } = problem;
  return new AuditlogError('http', `${status} ${title}${detail === undefined ? '' : `: ${detail}`}`, {
    ...problem,
    status,
    title,
    requestId: headers.get('x-request-id') ?? problem.requestId,
    retryAfterMs: parseRetryAfter(headers.get('retry-after'), Date.now()),
  });
}

export function networkError(error: unknown, { host }: URL): AuditlogError {
  const isNamed = error instanceof Error && error.cause instanceof Error;
  const cause = isNamed ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  // Other causes may quote a header.
  const why = code ?? (isNamed ? (error.cause as Error).message : 'the connection failed');
  if (why === blockedPort)
    return new AuditlogError('network', `no request to ${host}: fetch blocks this port; use another one`, {
      cause,
    });
  return new AuditlogError('network', `no answer from ${host}: ${why}`, { cause });
}

/** A service names an ignored filter in a header (contract: Read). */
function requireFilters({ headers }: Response, names: readonly string[]): void {
  const ignored = (headers.get('ignored-parameters') ?? '')
    .split(', ')
    .filter((name) => names.includes(name));
  if (ignored.length > 0)
    throw new AuditlogError(
      'ignored',
      `the service cannot use what was asked for, and ignores it: ${ignored.join(', ')}`,
    );
}

export async function request(call: Call): Promise<string> {
  const bytes = await requestBytes(call);
  try {
    return decodeText(bytes);
  } catch (error) {
    throw networkError(error, call.url);
  }
}

/**
 * Bounded in time. Rejects with AuditlogError, also for a non-2xx answer. Redirects are not followed: they
 * could carry the key to another host.
 */
export async function requestBytes(call: Call): Promise<Uint8Array> {
  const {
    url,
    timeoutMs,
    signal,
    responseBytesMax = limits.responseBytesMax,
    fetch: ask = fetch,
    mayNotIgnore: _,
    ...init
  } = call;
  const ended = new AbortController();
  const late = new AuditlogError('timeout', `no answer within ${timeoutMs} ms`);
  const timer = setTimeout(() => ended.abort(late), timeoutMs);
  const abort = (): void => ended.abort(abortedError());
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    const response = await ask(url, { ...init, redirect: 'manual', signal: ended.signal } as RequestInit);
    if (!response.ok) throw await httpError(response);
    if (call.mayNotIgnore !== undefined) requireFilters(response, call.mayNotIgnore);
    return await readBounded(response, responseBytesMax);
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason;
    // The rest of the answer must not occupy the connection.
    ended.abort();
    throw error instanceof AuditlogError ? error : networkError(error, url);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
