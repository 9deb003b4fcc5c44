/** Bounds of what is asked of Redis; units last. */
export const limits = {
  /** A request waits for Redis no longer than this; then this process counts by itself. */
  redisAnswerMsMax: 200,
  /** Until Redis is tried again after it failed: in between no request asks it. */
  redisRetryMs: 1_000,
  /** Of one attempt to connect. */
  redisConnectMsMax: 2_000,
  /** Rates, each with a limiter of its own; those of keys are whatever their makers chose. */
  redisRatesMax: 1_000,
} as const;
