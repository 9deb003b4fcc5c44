import { limits as baseLimits } from '../base/limits.ts';

/** Bounds of events; units last. */
export const limits = {
  eventBytesMax: baseLimits.eventBytesMax,
  eventDepthMax: 128,
  /** Objects and lists whose ends are noted of one value; a level of a value of OTLP has four within each other. */
  containersNotedMax: 1_000_000,
  containersDepthMax: 1_000,
  /** A smaller integer, zero aside, is taken for seconds or milliseconds. */
  eventTimeIntegerMin: 100_000_000_000_000,
} as const;
