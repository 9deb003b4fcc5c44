import { computed, signal } from '@preact/signals';
import { isAnswer } from './answers.ts';
import { changeKey, forgetChange } from './change-key.ts';
import { nextWindow } from './rate-limit.ts';
import type { Problem, Whoami } from './types.ts';

/** Undefined and empty values are left out. */
export type Parameters = Readonly<Record<string, string | number | undefined>>;

/**
 * Kind of failure: `refused` (repeating changes nothing), `unavailable` (engine, server or limit; try later),
 * `offline` (no connection), `broken` (not an answer of this server), `lost` (code that only a reload brings).
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly kind: 'refused' | 'unavailable' | 'offline' | 'broken' | 'lost';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** Lists organizations after a login, or the reason for missing evidence. */
  readonly problem: Partial<Problem>;

  constructor(kind: RequestError['kind'], problem: Partial<Problem>, response?: Response) {
    super(problem.detail ?? `HTTP ${response?.status}`);
    const retryAfter = Number(response?.headers.get('retry-after') ?? Number.NaN);
    this.kind = kind;
    this.status = response?.status ?? 0;
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
    this.problem = problem;
  }
}

/** Sent with each request, so that the server refuses it if the cookie now belongs to another user. */
let owner: Readonly<Record<string, string>> = {};
/** True once another user has signed in in this browser: this page shows nothing of theirs. */
export const isAnothers = signal(false);

export function setOwner(who: Whoami | undefined): void {
  owner =
    who === undefined ? {} : { 'X-Session-User': who.user.id, 'X-Session-Organization': who.organization.id };
}

/** Counts 403 answers: the user's role may have changed. */
export const refusals = signal(0);

const isEnded = signal(false);
/** True while the page itself replaces its session. */
export const isBeingReplaced = signal(false);

/** True while requests wait for a new sign-in: see `resumeSession`. */
export const isSessionOver = computed(() => isEnded.value && !isBeingReplaced.value);

let renewed = Promise.withResolvers<void>();

/** Repeats the requests that waited for a new session. */
export function resumeSession(): void {
  isEnded.value = false;
  renewed.resolve();
  renewed = Promise.withResolvers<void>();
}

interface Options {
  readonly signal?: AbortSignal | undefined;
  /** Fail instead of waiting for the limit or a new session, as forms need it. */
  readonly impatient?: boolean;
}

/** A GET whose headers matter. Rejects unless the status is a success. */
export function getStream(path: string, parameters: Parameters, options: Options = {}): Promise<Response> {
  return ask(withQuery(path, parameters), {}, options);
}

/** The JSON of a GET. Rejects with RequestError, or AbortError when its signal fires. */
export async function get<T>(path: string, parameters: Parameters = {}, options: Options = {}): Promise<T> {
  return jsonOf(path, await getStream(path, parameters, options), options.signal);
}

/** The text of a GET, which keeps all digits of numbers. */
export async function getText(path: string, parameters: Parameters, options: Options = {}): Promise<string> {
  const response = await getStream(path, parameters, options);
  return connected(response.text(), options.signal);
}

/** A change; undefined if the answer has no body. */
export async function send<T>(
  method: 'POST' | 'PATCH',
  path: string,
  body: object = {},
  options: Options = {},
): Promise<T> {
  const text = JSON.stringify(body);
  const key = changeKey(`${method} ${path} ${text}`);
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
  try {
    const response = await ask(path, { method, headers, body: text }, options);
    const isEmpty = response.status === 204;
    const answer = isEmpty ? undefined : await connected(response.json() as Promise<T>, options.signal);
    if (!isEmpty && !isAnswer(method, path, answer)) throw brokenAnswer();
    forgetChange();
    return answer as T;
  } catch (error) {
    if (error instanceof RequestError && error.kind === 'refused') forgetChange();
    throw error;
  }
}

/** The JSON of a response. Rejects as `get` does. */
export async function jsonOf<T>(path: string, response: Response, signal?: AbortSignal): Promise<T> {
  const answer = await connected(response.json() as Promise<T>, signal);
  if (!isAnswer('GET', path, answer)) throw brokenAnswer();
  return answer;
}

export function brokenAnswer(): RequestError {
  return new RequestError('broken', { detail: 'Invalid answer from the server.' });
}

/** A path with its parameters, also for links. */
export function withQuery(path: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Waits for the limit, and for a new session if this one has ended. */
async function ask(
  path: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> },
  { signal, impatient = false }: Options,
): Promise<Response> {
  for (;;) {
    const request = { ...init, headers: { ...init.headers, ...owner }, ...(signal && { signal }) };
    const response = await connected(fetch(path, request), signal);
    if (response.status === 401 && response.headers.has('x-session-user')) {
      isAnothers.value = true;
      await new Promise(() => {});
    }
    if (response.ok) return response;
    if (!impatient && response.status === 429 && (await nextWindow(response, signal))) continue;
    if (!impatient && response.status === 401) {
      isEnded.value = true;
      await renewed.promise;
      signal?.throwIfAborted();
      continue;
    }
    if (response.status === 403) refusals.value += 1;
    throw await refusal(response);
  }
}

/** The connection may break before or during an answer. */
export async function connected<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    if (error instanceof SyntaxError) throw brokenAnswer();
    throw new RequestError('offline', { detail: 'No connection to the server.' });
  }
}

async function refusal(response: Response): Promise<RequestError> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  const id = problem.request_id ?? response.headers.get('x-request-id');
  const kind = response.status >= 500 || response.status === 429 ? 'unavailable' : 'refused';
  return new RequestError(kind, { ...problem, ...(id !== null && { request_id: id }) }, response);
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
