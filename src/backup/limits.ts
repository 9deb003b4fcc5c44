export const limits = {
  /** The load of an engine on another machine is unknown, so commands read at this multiple. */
  throttleElsewhereTimes: 3,
  throttleGrowthMax: 10,
  /** Interval of checks: counters of processor time are coarse. */
  throttleLookMs: 1_000,
  /** How far a writer may be ahead of the known order: one hour, of 100 ticks of 64 writers a second. */
  orderSlackSegments: 3_600 * 100 * 64,
  backupFreeBytesMin: 64 * 1024 ** 2,
} as const;
