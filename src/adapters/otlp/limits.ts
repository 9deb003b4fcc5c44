/** Bounds of what is read of OTLP; units last. */
export const limits = {
  /** Values within values: as many as an event can have anywhere in its `extra`. */
  valueDepthMax: 123,
} as const;
