/** Bounds of what is asked of providers; units last. */
export const limits = {
  /** All that one step of a sign-in asks of a provider. */
  providerMsMax: 5_000,
  providerAnswerBytesMax: 1024 * 1024,
  /** Sign-ins of one provider that wait for it at once. */
  providerWaitingMax: 64,
  /** From the start of a sign-in to its end. */
  attemptMs: 10 * 60_000,
  clockToleranceSeconds: 30,
} as const;
