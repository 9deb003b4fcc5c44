export const limits = {
  /** All requests of one step of a sign-in. */
  providerMsMax: 5_000,
  providerAnswerBytesMax: 1024 * 1024,
  /** Concurrent sign-ins of one provider. */
  providerWaitingMax: 64,
  attemptMs: 10 * 60_000,
  clockToleranceSeconds: 30,
} as const;
