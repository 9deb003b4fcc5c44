export const limits = {
  /** After this the process counts alone. */
  redisAnswerMsMax: 200,
} as const;
