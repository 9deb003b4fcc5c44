export const limits = {
  /** A group ends sooner once its events have this many characters. */
  parquetGroupCharactersMin: 16 * 1024 * 1024,
  /** A line for Parquet: an event of 1 MiB, with the attributes that repeat it. */
  parquetLineBytesMax: 32 * 1024 * 1024,
  statusPollMs: 100,
  demoFlushMsMax: 60_000,
  doctorOrganizationsMax: 100,
  doctorExpiredDaysMax: 3,
} as const;
