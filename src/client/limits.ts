/** Bounds of the client; units last. What an option may change is a default here. */
export const limits = {
  requestMsDefault: 30_000,
  /** Node.js takes a longer one for none at all: 24 days. */
  timerMsMax: 2 ** 31 - 1,
  /** Node's fetch gives up on response headers after 300 s by itself, so a longer wait would not be one. */
  requestMsMax: 290_000,
  responseBytesMax: 256 * 1024 * 1024,
  /** Why each of 10,000 events was refused. */
  errorBodyBytesMax: 16 * 1024 * 1024,

  retryDelayMsMin: 200,
  /** Also how long a service is back before a client that could not reach it asks again. */
  retryDelayMsMax: 2_000,
  /** A `Retry-After` beyond this is taken as this. */
  retryAfterMsMax: 600_000,
  readGiveUpMsDefault: 120_000,
  writeGiveUpMsDefault: 900_000,
  /** The service remembers idempotency keys for 24 h; a retry after that could be stored twice. */
  writeGiveUpMsMax: 23 * 3_600_000,

  batchEventsDefault: 500,
  batchEventsMax: 10_000,
  batchBytesDefault: 1024 * 1024,
  batchDelayMsDefault: 200,
  batchDelayMsMax: 3_600_000,
  queueEventsDefault: 10_000,
  queueBytesDefault: 16 * 1024 * 1024,
  requestsAtOnceMax: 16,
  gzipBytesMin: 1024,
  flushMsDefault: 30_000,
  closeMsDefault: 10_000,

  pageEventsMax: 1000,
  feedWaitSecondsMax: 30,
  feedIdleMs: 1_000,
} as const;
