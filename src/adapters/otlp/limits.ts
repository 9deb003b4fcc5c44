/** Bounds of what is read of OTLP; units last. */
export const limits = {
  /** Values within values: as many as an event can have anywhere in its `extra`. */
  valueDepthMax: 123,
  /** From this depth on it is noted of a value where what is in it ends. */
  indexedDepth: 4,
} as const;
