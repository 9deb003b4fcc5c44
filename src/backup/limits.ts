/** Bounds of backups, restores, and what reads all there is; units last. */
export const limits = {
  /** Where the engine is on another machine, whose load is not known, commands read this many times as much. */
  throttleElsewhereTimes: 3,
  /** On idle processors commands read up to this many times as much. */
  throttleGrowthMax: 10,
  /** Time between looks at the processors; over a shorter one their counters say little. */
  throttleLookMs: 1_000,
  /** How far a writer may be ahead of all that is known of the order: an hour; a second has 100 ticks of 64 writers. */
  orderSlackSegments: 3_600 * 100 * 64,
  /** Room that a backup leaves on any disk. */
  backupFreeBytesMin: 64 * 1024 ** 2,
} as const;
