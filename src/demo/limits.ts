/** Bounds of the demo data; units last. */
export const limits = {
  /** Put into one body. */
  bodyEvents: 2_000,
} as const;
