/** Bounds of reads; units last. */
export const limits = {
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** A page up to this size is held until the engine has finished it; a larger one is read in slices. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  /** The engine's memory for what is to be held. */
  heldReadMemoryBytesMax: 256 * 1024 * 1024,
  /** A slice, as its rows are stored; one of a single event may be larger. It is handed out in pieces. */
  pageSliceBytes: 8 * 1024 * 1024,
  pagePieceBytes: 256 * 1024,
  /** Events of OCSF (ocsf110/): threads that map them, and how long they wait for more. */
  ocsf110ThreadsMax: 4,
  ocsf110IdleMsMax: 60_000,
  ocsf110HeapMegabytesMax: 256,
  /** Rows of a task, and how many tasks of one read are under way. */
  ocsf110TaskBytes: 384 * 1024,
  ocsf110TasksAtOnce: 4,
  /** Room for a task's result, as a multiple of its rows; a task that needs more makes it. */
  ocsf110Growth: 4,
  /** Rows up to this size are held until they are mapped; more are read in slices. */
  ocsf110PageBytesMax: 8 * 1024 * 1024,
  /** Audit events with their source events: for a look at one and what is beside it. */
  sourceEventsDefault: 10,
  sourceEventsMax: 100,
  /** Of an event's message in a list, which shows a line of it. */
  rowMessageCharactersMax: 300,
  /** A search for words ends after this time, and looks through so many events at first; the threads of the engine. */
  searchMsMax: 1_500,
  searchRowsMin: 20_000,
  searchThreads: 2,
  histogramBucketsMax: 120,
  exportsPerOrganizationMax: 4,
  /** All organizations together: each has a connection to the engine, as have `sourceStreamsMax`. */
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
  /** Where its events have more than this a page ends with the last that fits, and has one at least. */
  feedPageBytesMax: 32 * 1024 * 1024,
  /** Of an event in an answer: the time of reading, its name, and what stands between two events. */
  loggedTimeBytesMax: 40,
  /**
   * Read ahead at once: events (no more than are read by their places in one part: plans.ts), bytes (of events as large
   * as those before), how often for an organization and for all.
   */
  feedAheadEventsMax: 20_000,
  feedAheadBytesMax: 16 * 1024 * 1024,
  feedAheadPerOrganizationMax: 2,
  feedAheadMax: 4,
  /** Organizations whose events' size is remembered. */
  feedAheadOrganizationsMax: 1_024,
  /** So long it is kept for somebody who asks for it. */
  feedAheadMsMax: 5_000,
  feedPollMs: 250,
  /** The watermark is asked for this often; an older one is true as well. */
  feedWatermarkMs: 50,
  /** Events that one request of a filtered feed looks through before it answers with what it has. */
  feedWindowRows: 20_000,
  feedWindowsMax: 25,
  /** Offsets from here on are found by counts (offset-index.ts); below, skipping the events costs less. */
  deepOffsetMin: 5_000,
  /**
   * Newest pages (newest-span.ts): organizations of which it is remembered since when they have had one, up to what age it
   * helps (older events are in few parts), and how much further back a page looks: a segment and its INSERT.
   */
  newestOrganizationsMax: 1_024,
  newestSpanMicrosMax: 30_000_000,
  newestSlackMicros: 1_000_000,
} as const;
