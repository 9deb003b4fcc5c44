/** Bounds of what is asked of Redis; units last. */
export const limits = {
  /** Then this process counts by itself. */
  redisAnswerMsMax: 200,
  /** After a failure no request asks Redis for this long. */
  redisRetryMs: 1_000,
  /** How long one attempt to connect may take. */
  redisConnectMsMax: 2_000,
  /** A key is refused this long if its server died and does not come back. */
  answerClaimMs: 600_000,
  answerKeptMs: 24 * 3_600_000,
  /** How long a request waits for the answer of the server that has claimed its key. */
  answerWaitMsMax: 3_000,
  answerPollMs: 50,
  /** Different rates, each with a limiter of its own; makers of keys choose them freely. */
  redisRatesMax: 1_000,
} as const;
