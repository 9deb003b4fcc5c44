/** Bounds of what is asked of Redis; units last. */
export const limits = {
  /** A request waits for Redis no longer than this; then this process counts by itself. */
  redisAnswerMsMax: 200,
  /** After a failure no request asks Redis for this long. */
  redisRetryMs: 1_000,
  /** How long one attempt to connect may take. */
  redisConnectMsMax: 2_000,
  /** Different rates, each with a limiter of its own; makers of keys choose them freely. */
  redisRatesMax: 1_000,
} as const;
