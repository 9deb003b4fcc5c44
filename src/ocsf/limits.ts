import { limits as baseLimits } from '../base/limits.ts';

export const limits = {
  eventBytesMax: baseLimits.eventBytesMax,
  eventDepthMax: 128,
  /** Objects and lists of one value whose ends are remembered; a level of an OTLP value has four. */
  containersNotedMax: 1_000_000,
  containersDepthMax: 1_000,
  /** A smaller integer, except zero, is taken for seconds or milliseconds. */
  eventTimeIntegerMin: 100_000_000_000_000,
} as const;
