/** Bounds of reads; units last. */
export const limits = {
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** A page up to this size is held until the engine has finished it; a larger one is read in slices. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  /** The engine's memory for what is to be held. */
  heldReadMemoryBytesMax: 256 * 1024 * 1024,
  /** A slice of a large page, as its rows are stored; one of a single event may be larger. */
  pageSliceBytes: 8 * 1024 * 1024,
  /** Pieces in which a slice is handed out. */
  pagePieceBytes: 256 * 1024,
  /** Threads that map events for `schema=ocsf` (ocsf110/). */
  ocsf110ThreadsMax: 4,
  /** A thread without work ends after this long. */
  ocsf110IdleMsMax: 60_000,
  ocsf110HeapMegabytesMax: 256,
  /** Rows that a task maps. */
  ocsf110TaskBytes: 384 * 1024,
  /** Tasks of one read that are under way. */
  ocsf110TasksAtOnce: 4,
  /** Room for a task's result, as a multiple of its rows; a task that needs more makes it. */
  ocsf110Growth: 4,
  /** Rows up to this size are held until they are mapped; more are read in slices. */
  ocsf110PageBytesMax: 8 * 1024 * 1024,
  /** A page of audit events with their source events. */
  sourceEventsDefault: 10,
  sourceEventsMax: 100,
  /** Characters of a message in the list of the web page, which shows a line of it. */
  rowMessageCharactersMax: 300,
  /** A search for words ends after this time. */
  searchMsMax: 1_500,
  /** Events that it looks through at first. */
  searchRowsMin: 20_000,
  searchThreads: 2,
  histogramBucketsMax: 120,
  exportsPerOrganizationMax: 4,
  /** Exports of all organizations; each has a connection to the engine, as each of `sourceStreamsMax` has. */
  exportsMax: 24,
  exportRetryAfterSeconds: 10,
  /** Streams of events as their producers sent them. */
  sourceStreamsPerOrganizationMax: 8,
  sourceStreamsMax: 24,
  /** Parts in which a command exports to a file; an interrupted one loses at most one of them. */
  exportSliceRowsMin: 250_000,
  exportSlicesMax: 2_000,
  /** Reads other than streams that the engine is given at once: for each core, and never fewer than this. */
  readsAtOncePerCore: 4,
  readsAtOnceMin: 8,
  readsWaitingPerOrganizationMax: 256,
  readsWaitingMax: 4_096,
  readWaitMsMax: 10_000,
  readRetryAfterSeconds: 2,
  /** Long polls that wait, of one organization and of all. */
  feedWaitingPerOrganizationMax: 16,
  feedWaitingMax: 1_024,
  feedWaitSecondsMax: 30,
  /** Events of a page of the feed; a page of the audit endpoint has fewer (`pageLimitMax`). */
  feedLimitMax: 10_000,
  /** A page of the feed ends with the last event that fits into this, and has one at least. */
  feedPageBytesMax: 32 * 1024 * 1024,
  /** What an answer adds to each event: the time of reading, its name, and what stands between two events. */
  loggedTimeBytesMax: 40,
  /** Events that are read ahead at once: no more than are read by their places in one part (plans.ts). */
  feedAheadEventsMax: 20_000,
  /** Bytes of them, by the size of the events before. */
  feedAheadBytesMax: 16 * 1024 * 1024,
  /** Stretches that are held ahead, of one organization and of all. */
  feedAheadPerOrganizationMax: 2,
  feedAheadMax: 4,
  /** Organizations whose events' size is remembered. */
  feedAheadOrganizationsMax: 1_024,
  /** What was read ahead is kept this long. */
  feedAheadMsMax: 5_000,
  feedPollMs: 250,
  /** Events that one request of a filtered feed looks through before it answers with what it has. */
  feedWindowRows: 20_000,
  feedWindowsMax: 25,
  /** Offsets from here on are found by counts (offset-index.ts); below, skipping the events costs less. */
  deepOffsetMin: 5_000,
  /** Events of ranges of time from this length on are counted by the counts of ten minutes (offset-index.ts). */
  countedRangeMicrosMin: 6 * 3_600_000_000,
  /** Newest pages (newest-span.ts): organizations of which it is remembered how far back their last one reached. */
  newestOrganizationsMax: 1_024,
  /** Up to this age it helps; older events are in few parts. */
  newestSpanMicrosMax: 30_000_000,
  /** How much further back a page looks: a segment and its INSERT. */
  newestSlackMicros: 1_000_000,
} as const;
