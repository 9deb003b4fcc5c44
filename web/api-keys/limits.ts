/** Bounds of the list of keys; units last. */
export const limits = {
  /** A key that ends so soon is marked. */
  soonDays: 14,
} as const;
