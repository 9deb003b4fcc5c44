/** Bounds of what is asked of Redis; units last. */
export const limits = {
  /** Then this process counts by itself. */
  redisAnswerMsMax: 200,
} as const;
