/** Bounds of requests to Redis; units last. */
export const limits = {
  /** After this the process counts alone. */
  redisAnswerMsMax: 200,
} as const;
