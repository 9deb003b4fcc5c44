/** Bounds of what is asked of Redis; units last. */
export const limits = {
  /** A request waits for Redis no longer than this; then this process counts by itself. */
  redisAnswerMsMax: 200,
  /** After a failure no request asks Redis for this long. */
  redisRetryMs: 1_000,
  /** How long one attempt to connect may take. */
  redisConnectMsMax: 2_000,
  /** A key whose server has died is refused this long, if that server does not come back and answer. */
  answerClaimMs: 600_000,
  answerKeptMs: 24 * 3_600_000,
  /** How long a request waits for the answer of the server that has claimed its key. */
  answerWaitMsMax: 3_000,
  answerPollMs: 50,
  /** Different rates, each with a limiter of its own; makers of keys choose them freely. */
  redisRatesMax: 1_000,
} as const;
