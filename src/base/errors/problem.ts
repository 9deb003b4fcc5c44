/** Every error that clients see (contract: Errors); a test compares it with openapi.yaml. */
export const problemTable = {
  malformed: { status: 400, title: 'Bad Request' },
  nothing_accepted: { status: 400, title: 'Bad Request' },
  too_many_events: { status: 400, title: 'Bad Request' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  not_found: { status: 404, title: 'Not Found' },
  method_not_allowed: { status: 405, title: 'Method Not Allowed' },
  too_slow: { status: 408, title: 'Request Timeout' },
  conflict: { status: 409, title: 'Conflict' },
  too_large: { status: 413, title: 'Content Too Large' },
  unsupported_media: { status: 415, title: 'Unsupported Media Type' },
  key_reused: { status: 422, title: 'Unprocessable Content' },
  rate_limited: { status: 429, title: 'Too Many Requests' },
  internal: { status: 500, title: 'Internal Server Error' },
  unavailable: { status: 503, title: 'Service Unavailable' },
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
