import { computed, signal } from '@preact/signals';
import { isAnswer } from './answers.ts';
import { nextWindow } from './rate-limit.ts';
import type { Problem, Whoami } from './types.ts';

/** Values that are undefined or empty are left out. */
export type Parameters = Readonly<Record<string, string | number | undefined>>;

/**
 * Why there is no answer: `refused` (the request itself; asking again changes nothing), `unavailable` (the engine or the
 * server cannot answer, or too many ask, for now), `offline` (no connection), `broken` (an answer to something else).
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly kind: 'refused' | 'unavailable' | 'offline' | 'broken';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** What the server said: of a login, organizations that the password is right in; of evidence, why there is none. */
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

/** Whose session the page shows: each request says so, and the server refuses it where the cookie is another's by now. */
let owner: Readonly<Record<string, string>> = {};
/** True once somebody else has signed in in this browser: nothing of what is on the screen is theirs. */
export const isAnothers = signal(false);

export function setOwner(who: Whoami | undefined): void {
  owner =
    who === undefined ? {} : { 'X-Session-User': who.user.id, 'X-Session-Organization': who.organization.id };
}

/** Counts refusals for what somebody may not do: the role that the page knows may be another one by now. */
export const refusals = signal(0);

const isEnded = signal(false);
/** True while the page itself puts another session in the place of its own. */
export const isBeingReplaced = signal(false);

/** True while a session has ended and requests wait for the next one, which somebody has to begin: see `resumeSession`. */
export const isSessionOver = computed(() => isEnded.value && !isBeingReplaced.value);

let renewed = Promise.withResolvers<void>();

/** Somebody has signed in again: what waits is asked once more. */
export function resumeSession(): void {
  isEnded.value = false;
  renewed.resolve();
  renewed = Promise.withResolvers<void>();
}

interface Options {
  readonly signal?: AbortSignal | undefined;
  /** Not to wait for the limit or for another session, but to fail: for what somebody waits for in a form. */
  readonly impatient?: boolean;
}

/** The answer to a GET, for what its headers say. Rejects where it does not begin with success. */
export function getStream(path: string, parameters: Parameters, options: Options = {}): Promise<Response> {
  return ask(withQuery(path, parameters), {}, options);
}

/** The JSON of a GET. Rejects with RequestError, or AbortError when its signal fires. */
export async function get<T>(path: string, parameters: Parameters = {}, options: Options = {}): Promise<T> {
  return jsonOf(path, await getStream(path, parameters, options), options.signal);
}

/** The text of a GET, for what must keep all digits of numbers. */
export async function getText(path: string, parameters: Parameters, options: Options = {}): Promise<string> {
  const response = await getStream(path, parameters, options);
  return connected(response.text(), options.signal);
}

/** A change; undefined where the answer has no body. */
export async function send<T>(
  method: 'POST' | 'PATCH',
  path: string,
  body: object = {},
  options: Options = {},
): Promise<T> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await ask(path, { method, headers, body: JSON.stringify(body) }, options);
  if (response.status === 204) return undefined as T;
  const answer = await connected(response.json() as Promise<T>, options.signal);
  if (!isAnswer(method, path, answer)) throw brokenAnswer();
  return answer;
}

/** The JSON of the answer to a GET of a path. Rejects as `get` does. */
export async function jsonOf<T>(path: string, response: Response, signal?: AbortSignal): Promise<T> {
  const answer = await connected(response.json() as Promise<T>, signal);
  if (!isAnswer('GET', path, answer)) throw brokenAnswer();
  return answer;
}

/** What came in place of an answer. */
export function brokenAnswer(): RequestError {
  return new RequestError('broken', { detail: 'The answer could not be understood.' });
}

/** A path with its parameters, as links need it, too. */
export function withQuery(path: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** One answer: waits for the limit, and where the session has ended, until there is another. */
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
      // Nobody waits for it any more: the page begins anew.
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

/** What comes over the connection, which may break before an answer or in the midst of one. */
async function connected<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    if (error instanceof SyntaxError) throw brokenAnswer();
    throw new RequestError('offline', { detail: 'There is no connection to the server.' });
  }
}

async function refusal(response: Response): Promise<RequestError> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  const id = problem.request_id ?? response.headers.get('x-request-id');
  const kind = response.status >= 500 || response.status === 429 ? 'unavailable' : 'refused';
  return new RequestError(kind, { ...problem, ...(id !== null && { request_id: id }) }, response);
}

/** Whether a request was only given up by the page itself. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
