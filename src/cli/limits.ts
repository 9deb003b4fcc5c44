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
  /** A stretch at the slowest throttle, of large events or of such as are spread over a large part. */
  verifyStretchMsMax: 6 * 3_600_000,
  /** Erased events that are read at once, and that a line of a file has. */
  verifyErasedAtOnce: 20_000,
  /** Tiles whose events an export with evidence reads at once: 2,048 events. */
  evidenceTilesAtOnce: 8,
  erasedOfLineMax: 4_096,
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
  /** How often a command that stood still for too long takes another place in the order for what it records. */
  recordTriesMax: 3,
  /** Providers of people's sign-ins that doctor asks, and how far their clocks may be away. */
  doctorProvidersMax: 100,
  doctorProviderSkewMsMax: 30_000,
} as const;
