/** Every error that clients see (contract: Errors). openapi.yaml has the titles, docs/errors.md is made from this table. */
export const problemTable = {
  malformed: {
    status: 400,
    title: 'Bad Request',
    meaning: 'A header, a parameter or the body is invalid.',
    remedy: 'Correct it; `detail` names it.',
  },
  nothing_accepted: {
    status: 400,
    title: 'Bad Request',
    meaning: 'All events of the body were rejected.',
    remedy: 'Correct the producer; `errors` has index, field and rule.',
  },
  too_many_events: {
    status: 400,
    title: 'Bad Request',
    meaning: 'The body has more than 1,000,000 events or 100,000 rejected ones; nothing was stored.',
    remedy: 'Divide the body, or correct the producer.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'The API key, session or password is missing, wrong, expired, revoked, or of another host.',
    remedy: 'Check the key (`key list`), or sign in again.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The key lacks a scope, the role or a policy forbids it, or another site sent it.',
    remedy: 'Use a key or user that may do this.',
  },
  not_found: {
    status: 404,
    title: 'Not Found',
    meaning: 'The path is unknown, or the organization has nothing with this id.',
    remedy: 'Check the path and the id.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method Not Allowed',
    meaning: 'The path has no such method.',
    remedy: 'Use a method of `Allow`.',
  },
  too_slow: {
    status: 408,
    title: 'Request Timeout',
    meaning: 'The rest of the body did not arrive in time: a slow connection, or chunks with extensions.',
    remedy: 'Repeat it, with `Content-Length`.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The change conflicts with existing data.',
    remedy: 'Read the present state; `detail` names the conflict.',
  },
  too_large: {
    status: 413,
    title: 'Content Too Large',
    meaning: 'The body exceeds its limit, as sent or decompressed.',
    remedy: 'Divide it; `MAX_BODY_BYTES` limits bodies of events.',
  },
  unsupported_media: {
    status: 415,
    title: 'Unsupported Media Type',
    meaning: 'The `Content-Type` or `Content-Encoding` is not supported.',
    remedy: 'Use one of `Accept` or `Accept-Encoding` of the answer.',
  },
  key_reused: {
    status: 422,
    title: 'Unprocessable Content',
    meaning: 'The `Idempotency-Key` was used with another request within 24 hours.',
    remedy: 'Use a new key for each request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too Many Requests',
    meaning: 'A rate limit or a queue of the organization is full.',
    remedy: 'Repeat it after `Retry-After`, with jitter; send fewer at once.',
  },
  internal: {
    status: 500,
    title: 'Internal Server Error',
    meaning: 'A read failed, or the service has a fault; without `Retry-After`, stored data may be damaged.',
    remedy: 'Repeat it after `Retry-After`; otherwise look up `request_id` in the log.',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    meaning: 'A change cannot be stored now, too many requests are in progress, or the server shuts down.',
    remedy: 'Repeat it after `Retry-After`; `/readyz` shows the failing check.',
  },
} as const;

export type ProblemCode = keyof typeof problemTable;

export interface ProblemOptions {
  /** Seconds of the `Retry-After` header. */
  retryAfterSeconds?: number;
  headers?: Readonly<Record<string, string>>;
  /** Such as `errors` of a refused batch. */
  members?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/** An error whose `detail` is safe for clients. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.options = options;
  }
}
