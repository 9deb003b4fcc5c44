/** Bounds of backups, restores, and what reads all there is; units last. */
export const limits = {
  /**
   * Uncompressed bytes that `verify` may always read each second beside running servers, for each core of the engine. That
   * takes some 2 % of the core: an event of a kilobyte costs 4 us (bench/notes.md, Evidence).
   */
  throttleVerifyBytes: 8_000_000,
  /** Where the engine is on another machine, whose load is not known, commands read this many times as much. */
  throttleElsewhereTimes: 3,
  /** On idle processors commands read up to this many times as much: */
  throttleGrowthMax: 10,
  /** more while a larger share of the processors than `High` is idle, less while it is below `Low`. */
  throttleIdleShareHigh: 0.5,
  throttleIdleShareLow: 0.25,
  /** Time between looks at the processors; over a shorter one their counters say little. */
  throttleLookMs: 1_000,
  /** Events that are read at once: few, so that a command never has a core for long. */
  throttleBlockEvents: 8_192,
  /** How far a writer may be ahead of all that is known of the order: an hour; a second has 100 ticks of 64 writers. */
  orderSlackSegments: 3_600 * 100 * 64,
  /** What a backup reads each second beside a running server: a tenth of what the engine copies at full speed. */
  backupBytesPerSecond: 50_000_000,
  /** How long the engine may take to copy or restore a table. */
  backupStatementMsMax: 24 * 3_600_000,
  /** How long a backup waits for the server to send what its log holds. */
  backupLogMsMax: 30_000,
  backupLogPollMs: 100,
  /** Two backups stand on a full one as long as the newest has less than this share of its bytes. */
  backupIncrementShareMax: 0.5,
  backupFindingsMax: 1_000,
  /** Room that a backup leaves on any disk. */
  backupFreeBytesMin: 64 * 1024 ** 2,
  /** A restored table takes this many times the room of its backup, with what merging takes meanwhile. */
  restoreRoomRatio: 2,
} as const;
