/**
 * `http`: the service answered with an error; `network`: no answer, or a broken one; `timeout`: none in time;
 * `protocol`: an answer that is not what the service sends; `too_large`: one above the client's bound; `aborted`: by
 * the caller's signal; `ignored`: the service answered without a filter that was given; `queue_full`, `closed`, `not_json`: an event that was not queued.
 */
export type AuditlogErrorCode =
  | 'http'
  | 'network'
  | 'timeout'
  | 'protocol'
  | 'too_large'
  | 'aborted'
  | 'ignored'
  | 'queue_full'
  | 'closed'
  | 'not_json';

export interface AuditlogErrorFacts {
  readonly status?: number | undefined;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly errors?: readonly { readonly index: number; readonly error: string }[] | undefined;
  readonly cause?: unknown;
}

/** What every failure of the client is. Its message never has a key, a header or an event in it. */
export class AuditlogError extends Error {
  readonly code: AuditlogErrorCode;
  /** HTTP status, where there was an answer; `title`, `detail` and `requestId` are of its problem body (RFC 9457). */
  readonly status: number | undefined;
  readonly title: string | undefined;
  readonly detail: string | undefined;
  readonly requestId: string | undefined;
  /** What `Retry-After` asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The first refusals of a batch of which nothing was accepted, by index in the batch. */
  readonly errors: AuditlogErrorFacts['errors'];

  constructor(code: AuditlogErrorCode, message: string, facts: AuditlogErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'AuditlogError';
    this.code = code;
    this.status = facts.status;
    this.title = facts.title;
    this.detail = facts.detail;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.errors = facts.errors;
  }
}

/** What fetch says of a port that it connects to never, such as 6000. */
export const blockedPort = 'bad port';

/** Whether the same request may succeed later: never for what the request itself is at fault for. */
export function isTransient(error: unknown): error is AuditlogError {
  if (!(error instanceof AuditlogError)) return false;
  if (error.cause instanceof Error && error.cause.message === blockedPort) return false;
  if (error.code === 'network' || error.code === 'timeout' || error.code === 'protocol') return true;
  const { status } = error;
  if (status === undefined || status === 501) return false;
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
