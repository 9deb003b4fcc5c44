/** Bounds of the commands; units last. */
export const limits = {
  /** Of `ocsf validate`: bytes of a line (a document may be one), lines of a document, which is held, and faults told as JSON. */
  validateLineBytesMax: 256 * 1024 ** 2,
  validateDocumentLinesMax: 10_000_000,
  validateFaultsMax: 1_000,
  /** Snapshots that an export tries on a table that keeps changing. */
  exportSnapshotsMax: 5,
  /** A row group of Parquet: so many events, or fewer that have so many characters. Eight files may be open at once. */
  parquetGroupRowsMax: 65_536,
  parquetGroupCharactersMin: 16 * 1024 * 1024,
  /** An event of 1 MiB, with all that its attributes repeat of it. */
  parquetLineBytesMax: 32 * 1024 * 1024,
  cliServerAskMsMax: 2_000,
  /** A running server knows a new key within this. */
  cliKeyKnownMsMax: 10_000,
  cliPasswordMsMax: 120_000,
  progressIntervalMs: 250,
  helpColumnsMax: 100,
  /** Requests of an import at once, each with at most so many bytes (and the rest of a line) and lines. */
  importRequestsAtOnceMax: 8,
  importChunkBytes: 700_000,
  importChunkLinesMax: 10_000,
  /** An import does not send a longer line: it cannot be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  importRequestMsMax: 120_000,
  /** How long an import retries one request. */
  importRetryMsMax: 600_000,
  importCheckpointMs: 1_000,
  /** Records that a dry run shows. */
  importShownMax: 5,
  importHeadBytes: 64 * 1024,
  /** `status --wait`, a first start included; `stop`, which waits for requests, the log and the engine. */
  statusWaitMs: 120_000,
  statusPollMs: 100,
  stopServerMsMax: 180_000,
  demoBodiesAtOnceMax: 4,
  demoTellMs: 1_000,
  demoFlushMsMax: 60_000,
  forwardBatchEventsMax: 1000,
  forwardFileBytesMin: 4096,
  /** Short enough to keep the figures current. */
  forwardWaitSeconds: 10,
  /** Events of a stretch of time that is read as one, where the server has no feed. */
  forwardSliceEventsMax: 10_000,
  /** Events of one microsecond, which cannot be divided further. */
  forwardInstantEventsMax: 200_000,
  forwardSliceTriesMax: 5,
  /** Events remembered so that the overlap is not forwarded twice; with more, the overlap is shortened. */
  forwardKnownEventsMax: 50_000,
  /** A batch that is being delivered when the process is asked to end. */
  forwardStopMsMax: 10_000,
  /** Attempts of `--once` go on this long. */
  forwardOnceMsMax: 120_000,
  /** The checkpoint saves a position that moved without any event this often. */
  forwardIdleSaveMs: 60_000,
  /** Between looks at what a receiver's system has taken of a batch. */
  forwardSyslogLookMs: 10,
  forwardAnswerBytesMax: 64 * 1024 * 1024,
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
  /** Checkpoints that are held against one tree: each is a root to compare. */
  verifyCheckpointsMax: 10_000,
  /** Those of a copy: its entries say where a change is, so a few are enough. */
  verifyCopyCheckpointsMax: 1_000,
  /**
   * Tiles of entries that are read at once: 131,072 events. Where events came in another order than that of their times, a
   * stretch is spread over all that the organization has in a part, and each reads that once more: so no fewer.
   */
  verifyTilesAtOnce: 512,
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
  /** An event of 1 MiB with its proof, escaped as JSON. */
  verifyProofBytesMax: 8 * 1024 * 1024,
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
  secretFileBytesMax: 64 * 1024,
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
