/** Bounds of what the page asks of the server; units last. */
export const limits = {
  /** After a failure a view asks again, each time later. */
  retryMsMin: 2_000,
  retryMsMax: 30_000,
} as const;
