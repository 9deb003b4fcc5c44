/** Bounds of the commands; units last. */
export const limits = {
  /** A group ends sooner once its events have this many characters. */
  parquetGroupCharactersMin: 16 * 1024 * 1024,
  /** A line for Parquet: an event of 1 MiB, with all that its attributes repeat of it. */
  parquetLineBytesMax: 32 * 1024 * 1024,
  statusPollMs: 100,
  demoFlushMsMax: 60_000,
  /** What `doctor` calls too little, too slow, too late or too many. */
  doctorOrganizationsMax: 100,
  doctorExpiredDaysMax: 3,
} as const;
