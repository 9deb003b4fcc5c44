/** Bounds of the commands; units last. */
export const limits = {
  /** Snapshots that an export tries on a table that keeps changing. */
  exportSnapshotsMax: 5,
  /** A row group of Parquet: so many events, or fewer that have so many characters. Eight files may be open at once. */
  parquetGroupRowsMax: 65_536,
  parquetGroupCharactersMin: 16 * 1024 * 1024,
  /** An event of 1 MiB, with all that its attributes repeat of it. */
  parquetLineBytesMax: 32 * 1024 * 1024,
  cliServerAskMsMax: 2_000,
  cliPasswordMsMax: 120_000,
  /** `status --wait`, a first start included; `stop`, which waits for requests, the log and the engine. */
  statusWaitMs: 120_000,
  statusPollMs: 100,
  stopServerMsMax: 180_000,
  demoBodiesAtOnceMax: 4,
  demoTellMs: 1_000,
  demoFlushMsMax: 60_000,
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
  /** A stretch at the slowest throttle, of large events or of such as are spread over a large part. */
  verifyStretchMsMax: 6 * 3_600_000,
  /** How far ahead of all that is known of the order a writer may be: an hour, of which a second has 100 ticks of 64 writers. */
  orderSlackSegments: 3_600 * 100 * 64,
  /** Erased events that are read at once, and that a line of a file has. */
  verifyErasedAtOnce: 20_000,
  erasedOfLineMax: 4_096,
  /** Names of the application in events that were recorded under another configuration; each has a mapper or two. */
  eraseAppNamesMax: 32,
  /** Tiles whose events an export with evidence reads at once: 2,048 events. */
  evidenceTilesAtOnce: 8,
  evidenceSourceBytesMax: 32 * 1024 * 1024,
  /** What `doctor` calls too little, too slow, too late or too many. */
  doctorOrganizationsMax: 100,
  doctorFreeFilesMin: 10_000,
  doctorSyncedWrites: 32,
  doctorSyncedWriteBytes: 4096,
  doctorSyncedWriteMsMax: 100,
  doctorCertificateDaysMin: 30,
  doctorLogShareMax: 0.5,
  doctorLogAgeMsMax: 60_000,
  doctorPartsMax: 300,
  doctorExpiredDaysMax: 3,
  /** Backups: one question to an engine, or one slice; how long a copy may say nothing. */
  backupQueryMsMax: 6 * 3_600_000,
  backupSilenceMsMax: 600_000,
  backupSpillBytes: 128 * 1024 * 1024,
  /** A restore waits so long for an engine that is away. */
  restoreRetryMsMax: 60_000,
  restoreRetryDelayMsMin: 100,
  restoreRetryDelayMsMax: 2_000,
  restoreInsertEndMsMax: 60_000,
  /** How often a command that stood still for too long takes another place in the order for what it records. */
  recordTriesMax: 3,
  /** Erasing: events of one erasure; how many are looked for, read and written at once. */
  eraseEventsMax: 100_000,
  eraseCandidatesAtOnce: 200_000,
  eraseEventsAtOnce: 500,
  eraseBytesAtOnce: 8 * 1024 * 1024,
  eraseScanMsMax: 3_600_000,
  /** How often what is left is planned anew. */
  eraseAgainMax: 3,
  eraseTermsMax: 100,
  eraseTermCharactersMax: 320,
  eraseTermCharactersMin: 2,
  /** How long the command waits for the server; this goes on by itself. */
  eraseWaitMsMax: 600_000,
  erasePollMs: 200,
  /** A backup: a file of it, which is held in memory, and the largest that a restore takes. */
  backupFileBytes: 16 * 1024 ** 2,
  backupFileBytesMax: 256 * 1024 ** 2,
  /** Backups that stand on each other. */
  /** How often a slice is read where events are removed meanwhile. */
  backupSliceTriesMax: 5,
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
  /** Providers of people's sign-ins that doctor asks, and how far their clocks may be away. */
  doctorProvidersMax: 100,
  doctorProviderSkewMsMax: 30_000,
  /** Counts that are compared at once, of some 130 bytes each. */
  restoreCountsBytes: 16 * 1024 ** 2,
} as const;
