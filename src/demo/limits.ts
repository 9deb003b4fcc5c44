/** Bounds of the demo data; units last. */
export const limits = {
  /** Events of one body. */
  bodyEvents: 2_000,
  /** Nobody in the demo begins a transfer that would take longer. */
  transferSecondsMax: 1_800,
} as const;
