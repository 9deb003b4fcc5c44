export const limits = {
  /** Nesting of values: as deep as an event's `extra` allows. */
  valueDepthMax: 123,
} as const;
