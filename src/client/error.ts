/**
 * `network`: no answer, or a broken one; `protocol`: an unexpected answer; `too_large`: above the client's
 * bound; `ignored`: the service ignored a filter; `queue_full`, `closed`, `not_json`: the event was not
 * queued.
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

/** The message never contains a key, a header or an event. */
export class AuditlogError extends Error {
  readonly code: AuditlogErrorCode;
  /** HTTP status; `title`, `detail` and `requestId` come from the problem body (RFC 9457). */
  readonly status: number | undefined;
  readonly title: string | undefined;
  readonly detail: string | undefined;
  readonly requestId: string | undefined;
  /** `Retry-After`, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The first errors of a batch without accepted events, by index. */
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

/** Fetch's message for a port that it never connects to, such as 6000. */
export const blockedPort = 'bad port';

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): error is AuditlogError {
  if (!(error instanceof AuditlogError)) return false;
  if (error.cause instanceof Error && error.cause.message === blockedPort) return false;
  if (error.code === 'network' || error.code === 'timeout' || error.code === 'protocol') return true;
  const { status } = error;
  if (status === undefined || status === 501) return false;
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
