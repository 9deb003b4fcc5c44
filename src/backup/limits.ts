/** Bounds of backups, restores, and what reads all there is; units last. */
export const limits = {
  /**
   * What a command reads a second at least beside running servers, for each core of the engine, uncompressed: some 2 % of
   * it, as an event, of a kilobyte or so, costs a backup 12 us and `verify` 4 (bench/notes.md, Upkeep and Evidence). A
   * backup reads each event twice.
   */
  throttleBackupBytes: 3_000_000,
  throttleVerifyBytes: 8_000_000,
  /** So many times that where the engine is on a machine that they do not see. */
  throttleElsewhereTimes: 3,
  /** So many times that while a larger share of the processors than `High` is idle; slower again below `Low`. */
  throttleGrowthMax: 10,
  throttleIdleShareHigh: 0.5,
  throttleIdleShareLow: 0.25,
  /** Over a shorter time than this their counters say little. */
  throttleLookMs: 1_000,
  /** Small, so that a command never has a core for long. */
  throttleBlockEvents: 8_192,
  /** How far ahead of all that is known of the order a writer may be: an hour, of which a second has 100 ticks of 64 writers. */
  orderSlackSegments: 3_600 * 100 * 64,
  /** Backups: one question to an engine, or one slice; how long a copy may say nothing. */
  backupQueryMsMax: 6 * 3_600_000,
  backupSilenceMsMax: 600_000,
  backupSpillBytes: 128 * 1024 * 1024,
  /** A restore waits so long for an engine that is away. */
  restoreRetryMsMax: 60_000,
  restoreRetryDelayMsMin: 100,
  restoreRetryDelayMsMax: 2_000,
  restoreInsertEndMsMax: 60_000,
  /** A backup: a file of it, which is held in memory, and the largest that a restore takes. */
  backupFileBytes: 16 * 1024 ** 2,
  backupFileBytesMax: 256 * 1024 ** 2,
  /** How often a slice is read where events are removed meanwhile. */
  backupSliceTriesMax: 5,
  /** Backups that stand on each other. */
  backupChainMax: 10_000,
  backupFindingsMax: 1_000,
  backupCommandMsMax: 15_000,
  /** Servers tell each second how far they have come. */
  backupWatermarkMsMax: 30_000,
  backupRequestMsMax: 120_000,
  backupRetryMsMax: 120_000,
  /** How long the engine waits for a place that takes a file slowly. */
  backupStallSeconds: 600,
  /** What an event takes of a backup where the engine does not tell; and room that is left on any disk. */
  backupEventBytes: 400,
  backupFreeBytesMin: 1024 ** 3,
  /** A restored table takes so many times the room of its backup, with what merging takes meanwhile. */
  restoreRoomRatio: 4,
  /** Counts that are compared at once, of some 130 bytes each. */
  restoreCountsBytes: 16 * 1024 ** 2,
} as const;
