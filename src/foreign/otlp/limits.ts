/** Bounds of what is read of OTLP; units last. */
export const limits = {
  /** Values within values. One beyond has more levels than an event may have, so the rules of events refuse its record. */
  valueDepthMax: 128,
} as const;
