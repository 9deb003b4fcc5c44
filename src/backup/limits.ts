/** Bounds of backups, restores, and what reads all there is; units last. */
export const limits = {
  /**
   * Uncompressed bytes that a command may always read each second beside running servers, for each core of the engine. That
   * takes some 2 % of the core: an event of a kilobyte costs a backup 12 us and `verify` 4 (bench/notes.md, Upkeep and
   * Evidence). A backup reads each event twice.
   */
  throttleBackupBytes: 3_000_000,
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
  /** How long a question of a backup to the engine may take, and a slice. */
  backupQueryMsMax: 6 * 3_600_000,
  /** How long a copy may stand still. */
  backupSilenceMsMax: 600_000,
  backupSpillBytes: 128 * 1024 * 1024,
  /** How long a restore waits for an engine that is away. */
  restoreRetryMsMax: 60_000,
  restoreRetryDelayMsMin: 100,
  restoreRetryDelayMsMax: 2_000,
  restoreInsertEndMsMax: 60_000,
  /** A file of a backup, which is held in memory. */
  backupFileBytes: 16 * 1024 ** 2,
  /** The largest file that a restore takes. */
  backupFileBytesMax: 256 * 1024 ** 2,
  /** Times that a slice is read where events are removed meanwhile. */
  backupSliceTriesMax: 5,
  /** Backups that stand on each other. */
  backupChainMax: 10_000,
  backupFindingsMax: 1_000,
  backupCommandMsMax: 15_000,
  /** Servers tell each second how far they have come. */
  backupWatermarkMsMax: 30_000,
  backupRequestMsMax: 120_000,
  /** Several requests that get no answer. */
  backupRetryMsMax: 300_000,
  /** How long the engine waits for a place that takes a file slowly. */
  backupStallSeconds: 600,
  /** What an event takes of a backup where the engine does not tell. */
  backupEventBytes: 400,
  /** Room that a backup leaves on any disk. */
  backupFreeBytesMin: 1024 ** 3,
  /** A restored table takes this many times the room of its backup, with what merging takes meanwhile. */
  restoreRoomRatio: 4,
  /** Counts that are compared at once, of some 130 bytes each. */
  restoreCountsBytes: 16 * 1024 ** 2,
} as const;
