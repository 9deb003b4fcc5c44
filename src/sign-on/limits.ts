/** Bounds of requests to providers; units last. */
export const limits = {
  /** All requests of one step of a sign-in. */
  providerMsMax: 5_000,
  providerAnswerBytesMax: 1024 * 1024,
  /** Concurrent sign-ins of one provider. */
  providerWaitingMax: 64,
  /** From the start of a sign-in to its end. */
  attemptMs: 10 * 60_000,
  clockToleranceSeconds: 30,
} as const;
