export const limits = {
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** Larger pages are read in slices instead of being buffered. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  /** Stored bytes of a slice; a single event may be larger. */
  pageSliceBytes: 8 * 1024 * 1024,
  ocsf110HeapMegabytesMax: 256,
  ocsf110TasksAtOnce: 4,
  exportsPerOrganizationMax: 4,
  sourceStreamsMax: 24,
  /** Events of a case file, and their stored bytes. */
  caseEventsMax: 1_000,
  caseBytesMax: 32 * 1024 * 1024,
  feedWaitSecondsMax: 30,
  /** A page of the feed ends within this, but has at least one event. */
  feedPageBytesMax: 32 * 1024 * 1024,
  feedAheadPerOrganizationMax: 2,
  /** From this offset on counts locate a page (offset-index.ts); below, skipping costs less. */
  deepOffsetMin: 5_000,
  newestOrganizationsMax: 1_024,
  newestSpanMicrosMax: 30_000_000,
  /** Extra span for a segment and its INSERT. */
  newestSlackMicros: 1_000_000,
} as const;
