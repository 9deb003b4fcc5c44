/** Bounds of reads; units last. */
export const limits = {
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** A page up to this size is held until the engine has finished it; a larger one is read in slices. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  /** A slice of a large page, as its rows are stored; one of a single event may be larger. */
  pageSliceBytes: 8 * 1024 * 1024,
  ocsf110HeapMegabytesMax: 256,
  /** Tasks of one read that are under way. */
  ocsf110TasksAtOnce: 4,
  exportsPerOrganizationMax: 4,
  sourceStreamsMax: 24,
  /** A case file: its events, and the bytes of what is stored of them. */
  caseEventsMax: 1_000,
  caseBytesMax: 32 * 1024 * 1024,
  feedWaitSecondsMax: 30,
  /** A page of the feed ends with the last event that fits into this, and has one at least. */
  feedPageBytesMax: 32 * 1024 * 1024,
  /** Stretches that are held ahead, of one organization and of all. */
  feedAheadPerOrganizationMax: 2,
  /** Offsets from here on are found by counts (offset-index.ts); below, skipping the events costs less. */
  deepOffsetMin: 5_000,
  /** Newest pages (newest-span.ts): organizations of which it is remembered how far back their last one reached. */
  newestOrganizationsMax: 1_024,
  /** Up to this age it helps; older events are in few parts. */
  newestSpanMicrosMax: 30_000_000,
  /** How much further back a page looks: a segment and its INSERT. */
  newestSlackMicros: 1_000_000,
} as const;
