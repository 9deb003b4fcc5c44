/** Bounds of the commands; units last. */
export const limits = {
  /** Snapshots that an export tries on a table that keeps changing. */
  exportSnapshotsMax: 5,
  /** Events of a row group of Parquet. Eight files may be open at once. */
  parquetGroupRowsMax: 65_536,
  /** A group ends sooner once its events have this many characters. */
  parquetGroupCharactersMin: 16 * 1024 * 1024,
  /** A line for Parquet: an event of 1 MiB, with all that its attributes repeat of it. */
  parquetLineBytesMax: 32 * 1024 * 1024,
  cliServerAskMsMax: 2_000,
  /** A server that has the data directory may be slow, and to an import one that does not answer is none. */
  importServerAskMsMax: 30_000,
  cliPasswordMsMax: 120_000,
  /** `status --wait`: longer than a first start takes. */
  statusWaitMs: 120_000,
  statusPollMs: 100,
  /** `stop`: longer than a server waits for requests, the log and the engine. */
  stopServerMsMax: 180_000,
  demoBodiesAtOnceMax: 4,
  demoTellMs: 1_000,
  demoFlushMsMax: 60_000,
  /** How long `verify` may read a stretch: at the slowest throttle, of large events or of such as are spread over a large part. */
  verifyStretchMsMax: 6 * 3_600_000,
  /** Erased events that `verify` reads at once. */
  verifyErasedAtOnce: 20_000,
  /** Tiles whose events an export with evidence reads at once: 2,048 events. */
  evidenceTilesAtOnce: 8,
  /** Erased events in a line of an export with evidence. */
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
  /** How long a look at the tiles of all trees may take. */
  doctorTreesMsMax: 600_000,
  /** Times that a command takes a place in the order for what it records; it loses one where it stands still for too long. */
  recordTriesMax: 3,
  /** Providers of sign-on that `doctor` asks. */
  doctorProvidersMax: 100,
  /** How far their clocks may be away. */
  doctorProviderSkewMsMax: 30_000,
} as const;
