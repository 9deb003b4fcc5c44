import { limits } from './limits.ts';
import { AuditlogError } from './error.ts';
import { abortedError, parseRetryAfter } from './retry.ts';

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Above it the answer is not read on, and the call fails with `too_large`. */
  readonly responseBytesMax?: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The address under `base` that `path` (without a leading slash) names, with what is given of `query`. */
export function endpoint(base: URL, path: string, query: object = {}): URL {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') url.searchParams.set(name, String(value));
  }
  return url;
}

/** A base address; what follows its last slash is kept. Throws TypeError for one that no request may go to. */
export function baseUrl(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TypeError('url: not an http(s) address');
  if (url.username !== '' || url.password !== '') throw new TypeError('url: credentials do not belong there');
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > bytesMax) throw new AuditlogError('too_large', `the answer is larger than ${bytesMax} bytes`);
    chunks.push(bytes);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks, size));
}

function textMember(body: unknown, name: string): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const value = (body as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

/** What the service refused of a batch: the index of an event, and the rule that it broke. */
export type Refusals = readonly { readonly index: number; readonly error: string }[];

/** The list of refusals in an answer to a batch, as far as it is one. */
export function refusalsOf(body: unknown): Refusals | undefined {
  const errors = (body as { errors?: unknown } | null)?.errors;
  if (!Array.isArray(errors)) return undefined;
  return errors.filter(
    (one: unknown): one is Refusals[number] =>
      typeof (one as Refusals[number] | null)?.index === 'number' &&
      typeof (one as Refusals[number]).error === 'string',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not every error on the way comes from the service: a proxy's page has no facts to take from it.
    return undefined;
  }
}

async function httpError(response: Response): Promise<AuditlogError> {
  const { status, headers } = response;
  const text = await readBounded(response, limits.errorBodyBytesMax).catch(() => '');
  const body = parsed(text);
  const detail = textMember(body, 'detail');
  const title = textMember(body, 'title') ?? response.statusText;
  return new AuditlogError('http', `${status} ${title}${detail === undefined ? '' : `: ${detail}`}`, {
    status,
    title,
    detail,
    requestId: headers.get('x-request-id') ?? textMember(body, 'request_id'),
    retryAfterMs: parseRetryAfter(headers.get('retry-after'), Date.now()),
    errors: refusalsOf(body),
  });
}

/** Undici says "fetch failed" and leaves the reason to the cause. */
function networkError(error: unknown): AuditlogError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return new AuditlogError('network', `no answer: ${code ?? 'the connection failed'}`, { cause });
}

/**
 * One request, bounded in time from the connection to the last byte of the answer. Rejects with AuditlogError; an
 * answer other than 2xx is one too. Redirects are not followed: they could carry the key to another host.
 */
export async function request(call: Call): Promise<Answer> {
  const { method, url, headers = {}, body, signal } = call;
  const ended = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    ended.abort();
  }, call.timeoutMs);
  const abort = (): void => ended.abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    if (signal?.aborted === true) throw abortedError();
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: ended.signal,
      ...(body !== undefined && { body }),
    });
    if (!response.ok) throw await httpError(response);
    return {
      status: response.status,
      text: await readBounded(response, call.responseBytesMax ?? limits.responseBytesMax),
    };
  } catch (error) {
    if (signal?.aborted === true) throw abortedError();
    if (timedOut) throw new AuditlogError('timeout', `no answer within ${call.timeoutMs} ms`);
    if (error instanceof AuditlogError) {
      // What is left of the answer is of no use, and must not keep the connection.
      if (error.code === 'too_large') ended.abort();
      throw error;
    }
    throw networkError(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
