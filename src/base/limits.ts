/** Every bound of the service that is not configuration, in one place; units last. */
export const limits = {
  // Events (contract: Ingest).
  eventBytesMax: 1024 * 1024,
  eventDepthMax: 128,
  eventTimeMicrosMin: 0,
  eventTimeMicrosMax: 7_258_118_400_000_000,
  /** A smaller integer, zero aside, is taken for seconds or milliseconds. */
  eventTimeIntegerMin: 100_000_000_000_000,
  remoteIpCharactersMax: 255,
  rejectedErrorsReportedMax: 100,
  /** As many as a request may ask for. */
  rejectedErrorsAskedMax: 10_000,

  // Pages.
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** A page up to this size is held until the engine has finished it; a larger one is streamed. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  compressBytesMin: 1024,
  histogramBucketsMax: 120,
  topValuesDefault: 10,
  topValuesMax: 100,
  /** Memory of grouping or sorting a read, above which the engine goes on on the disk. */
  readSpillBytes: 128 * 1024 * 1024,

  // Exports.
  exportsPerOrganizationMax: 4,
  /** All organizations together: each holds one of `engineConnectionsMax`, as do `sourceStreamsMax`. */
  exportsMax: 24,
  exportRetryAfterSeconds: 10,
  /** Streams of events as their producers sent them. */
  sourceStreamsPerOrganizationMax: 8,
  sourceStreamsMax: 24,
  /** Parts in which a command exports to a file; an interrupted one loses at most one of them. */
  exportSliceRowsMin: 250_000,
  exportSlicesMax: 2_000,
  /** Snapshots that such an export takes before it gives up on a table that does not come to rest. */
  exportSnapshotsMax: 5,
  /** Put into one frame of a compressed file. */
  zstdFrameBytes: 4 * 1024 * 1024,

  // HTTP.
  headersBytesMax: 16 * 1024,
  /** How long clients are told that an idle connection stays. The library closes it after 8 to 12 s. */
  keepAliveHintSeconds: 7,
  /** How long browsers are told to come over TLS only. */
  strictTransportSeconds: 365 * 24 * 3600,
  requestIdCharactersMax: 128,
  idempotencyKeyCharactersMax: 255,
  /** Of one body while nobody has asked for it. */
  unreadBodyBytesMax: 64 * 1024,
  /** Bodies being received or waiting for a worker, all requests together. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
  /** Of them, for bodies of at most `unreadBodyBytesMax`. */
  bodiesInFlightSmallShare: 1 / 8,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,
  accessLogFlushMs: 100,
  accessLogCloseMsMax: 2_000,
  requestsInFlightMax: 20_000,
  /** A request body that is one small JSON object, such as a login or a setting. */
  jsonBodyBytesMax: 64 * 1024,
  /** A request body nobody wants is swallowed up to this size; a larger one costs its sender the connection. */
  ignoredBodyBytesMax: 64 * 1024,
  /** First allocation for a body; what a sender announces beyond it is allocated once it has sent this much. */
  bodyFirstAllocationBytes: 1024 * 1024,
  pooledBodyBytesMin: 32 * 1024,
  /** After an early refusal the rest of the body is thrown away this long and this far, so that the answer is seen. */
  refusedBodyDrainBytesMax: 128 * 1024 * 1024,
  refusedBodyDrainMsMax: 10_000,
  refusedBodyQuietMs: 100,
  /** A reader of a stream may stand still this long before it is dropped. */
  streamStallMsMax: 120_000,
  streamStallCheckMs: 3_000,
  /** WebAssembly zstd runs on the event loop: a body above this goes in pieces of the other size, others between them. */
  zstdAtOnceBytesMax: 128 * 1024,
  zstdPieceBytes: 64 * 1024,
  /** Beyond this clients get another encoding. */
  zstdCompressorsMax: 64,

  // Ingest.
  gatherDelayMsMax: 2,
  /** Also what one hostile sender can add to the wait of those gathered with it: 20 ms where all of it is rejected. */
  gatherBytesMax: 64 * 1024,
  gatherRequestsMax: 256,
  /** From so many tasks that wait for a worker on, a group waits until it is full or the one before is mapped. */
  gatherQueuedTasks: 64,
  /** Plain bodies up to this size have a worker thread of their own, which nothing large ever holds. */
  smallBodyBytesMax: 16 * 1024,
  /** Bodies above this, and all compressed ones, are divided between the workers, in pieces of about this size. */
  splitBytesMin: 1024 * 1024,
  pieceBytes: 512 * 1024,
  /** Larger bodies are worked on, and are in memory decompressed, for as many organizations at once, */
  largeBodyOrganizationsMax: 4,
  /** and of one organization for as many as there are threads and this, so that none waits for its next task. */
  largeBodiesBeyondThreads: 1,
  largeBodiesWaitingPerOrganizationMax: 256,
  largeBodiesWaitingMax: 1024,
  largeBodyWaitMsMax: 30_000,
  /** The rejected event after these ends the work on its body, and nothing of the body is stored. */
  rejectedEventsMax: 100_000,
  /** The first rejected event of an API key and reason in this time is logged, for at most so many of them. */
  rejectionLogMs: 60_000,
  rejectionLogKeysMax: 10_000,
  /** Text is cut from a body in strings of this size: they must be small to be cheap. */
  windowBytes: 64 * 1024,
  /** Unused buffers that a thread keeps for its next batches. */
  bufferPoolBytesMax: 64 * 1024 * 1024,
  workerQueueTasksMax: 1024,
  workerTaskMsMax: 30_000,
  workerHeapMegabytesMax: 512,
  workerYoungMegabytesMax: 64,
  segmentRowsMax: 1024 * 1024,
  segmentsInFlightMax: 2,
  /** Of them: the other place is for small ones, which then never wait for a large one. */
  largeSegmentsInFlightMax: 1,
  /** Beyond FLUSH_INTERVAL; a third of what a reader is promised, as the INSERT that is under way takes time too. */
  segmentWaitMsMax: 350,
  /** With less than this in the log no engine is behind for want of processors. */
  paceBytesMin: 32 * 1024 * 1024,
  /** The oldest task waits no longer for an engine that is behind, and a large batch is held against later ones no longer. */
  paceHoldMsMax: 2_000,
  paceDebtMsMax: 10_000,
  /** So often it is looked whether the engine has caught up. */
  paceCheckMs: 50,
  /** Over this time it is measured what the engine takes. */
  paceRateMs: 2_000,
  damagedSegmentTries: 3,
  frameBytesMax: 256 * 1024 * 1024,
  blockRowsMax: 65_536,
  /** Events that one request may hold; a segment numbers a few more. */
  batchEventsMax: 1_000_000,
  blockPayloadBytesMax: 16 * 1024 * 1024,
  idempotencyWindowMs: 24 * 3_600_000,
  idempotencyKeysMax: 500_000,
  idempotencyBytesMax: 128 * 1024 * 1024,
  retryDelayMsMin: 100,
  retryDelayMsMax: 5_000,
  walRetryAfterSeconds: 5,
  walProbeMs: 1_000,
  /** One sync covers at most this much, so that the first of a long queue does not wait for the last. */
  walGroupBytesMax: 16 * 1024 * 1024,
  /** An append from this size on has a segment of its own, so that nobody waits for it or for its INSERT, */
  walLargeAppendBytesMin: 16 * 1024 * 1024,
  /** and is written in slices, with the syncs of others between them. */
  walSliceBytesMax: 4 * 1024 * 1024,
  /**
   * Of the disk that the log shares with the embedded engine: with less it takes no more events, since the engine
   * needs `engineFreeBytesMin` to take them over, and the log some for what it is still being asked.
   */
  walKeepFreeBytes: 512 * 1024 * 1024,
  /** How long what is known of the free room counts. */
  walRoomMsMax: 250,
  /** A segment takes appends until the next is there, up to twice its size, but no more than a read takes. */
  walOverfullBytesMax: 1024 ** 3,
  /** Segments that a manifest of the log names; of more that wait, the end of the oldest is not checked. */
  walManifestSegmentsMax: 4_096,
  /** Organizations of which it is remembered when events last came. */
  arrivalsOrganizationsMax: 10_000,
  /** An empty segment older than this gets a new number when somebody asks how far the log has settled. */
  walNumberAgeMsMax: 200,

  // Reading.
  /** Reads other than streams that the engine is given at once: for each core, and never fewer than this. */
  readsAtOncePerCore: 4,
  readsAtOnceMin: 8,
  readsWaitingPerOrganizationMax: 256,
  readsWaitingMax: 4_096,
  readWaitMsMax: 10_000,
  readRetryAfterSeconds: 2,
  readMemoryBytesMax: 768 * 1024 * 1024,
  /** Long polls that wait, of one organization and of all. */
  feedWaitingPerOrganizationMax: 16,
  feedWaitingMax: 1_024,
  feedWaitSecondsMax: 30,
  /** Events of a page of the feed; a page of the audit endpoint has fewer (`pageLimitMax`). */
  feedLimitMax: 10_000,
  /** Read ahead at once: events, bytes (of pages as large as the one before), how often for an organization and for all. */
  feedAheadEventsMax: 10_000,
  feedAheadBytesMax: 16 * 1024 * 1024,
  feedAheadPerOrganizationMax: 2,
  feedAheadMax: 4,
  /** So long it is kept for somebody who asks for it. */
  feedAheadMsMax: 5_000,
  feedPollMs: 250,
  /** How far the order has settled is asked this often; an older answer is true as well. */
  feedSettledMs: 50,
  /** Organizations of which it is remembered where nothing is to be found. */
  feedEmptyStretchesMax: 10_000,
  /** Events that one request of a filtered feed looks through before it answers with what it has. */
  feedWindowRows: 20_000,
  feedWindowsMax: 25,
  /** Processes that share an engine publish how far they have settled this often, and keep their clocks this close. */
  watermarkPublishMs: 1_000,
  clockSkewMsMax: 2_000,
  /** The clock is compared with theirs this often. */
  clockCheckMs: 30_000,
  /** A command's claim ends by itself after this, longer than its insert can take. */
  watermarkClaimMsMax: 600_000,

  /** Offsets from here on are found by landmarks (landmarks.ts); below, skipping the events costs less. */
  deepOffsetMin: 5_000,
  /** Events between two landmarks at least, landmarks of an organization at most, and organizations that have some. */
  landmarkStepEvents: 1_000,
  landmarksMax: 16_384,
  landmarkOrganizationsMax: 64,
  landmarkRangesMax: 16,
  /** More events than this between two landmarks are looked at second by second. */
  landmarkGapEventsMax: 20_000,
  /** A page that finds itself this much farther from its landmark than expected looks for another one. */
  landmarkMissEventsMax: 50_000,

  // Engine.

  /** A merge of a few hundred thousand events opens some 300 files, and each connection is one. */
  openFilesMin: 1024,
  engineStartMsMax: 20_000,
  engineStopMsMax: 8_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 2_000,
  engineConnectionsMax: 128,
  /** Shorter than any engine keeps an idle connection (3 s at least). */
  engineIdleConnectionMs: 2_500,
  /** Read from a socket at once. */
  engineReadBytes: 256 * 1024,
  engineHeadBytesMax: 64 * 1024,
  engineHeadLinesMax: 200,
  engineRefusalBytesMax: 64 * 1024,
  readQueryMsMax: 30_000,
  insertMsMax: 120_000,
  /** An earlier attempt ends within this time after it has been asked to. */
  insertEndMsMax: 60_000,
  /** Result of one parsed read (not a page: those are passed on as bytes). */
  engineRowsBytesMax: 64 * 1024 * 1024,
  /** End of a result that is held back until the engine has said whether it failed; an exception fits in it. */
  engineTailBytes: 32 * 1024,
  engineErrorCharactersMax: 600,
  engineStderrBytesMax: 16 * 1024,
  enginePollDelayMs: 10,
  engineAskMsMax: 1_000,
  enginePortAttemptsMax: 50,
  engineBindAttemptsMax: 5,
  migrationAttemptsMax: 8,
  /** With less room on its disk the engine is given nothing, and merges nothing: it does not notice a full disk. */
  engineFreeBytesMin: 256 * 1024 * 1024,
  /** The ledger of stored events: how often it looks whether there is something to do, counts, and compares. */
  ledgerTurnMs: 1_000,
  ledgerCountMs: 5_000,
  ledgerCompareMs: 3_600_000,
  /** After a comparison that failed, as the engine was away or a part cannot be read. */
  ledgerRetryMs: 5_000,
  /** While events are missing: what the operator has mended or recorded is soon seen. */
  ledgerRecompareMs: 10_000,
  /** What takes long is done less often: its pauses are so many times as long as it took. */
  ledgerShareOfTime: 50,
  ledgerQueryMsMax: 600_000,
  ledgerStopMsMax: 2_000,
  /** Days of partitions; each is some 60 bytes. */
  ledgerCountsMax: 100_000,
  /** Parts that the engine has set aside are looked for, and while damage is known, whether it is still there. */
  partsLookMs: 60_000,
  damageLookMs: 2_000,
  /** Reading one part whole. */
  partCheckMsMax: 1_800_000,
  damageShownMax: 20,
  /** A migration that copies all events, and whoever waits for it. */
  migrationMsMax: 7 * 24 * 3_600_000,
  migrationProgressMs: 10_000,
  /** Of processes that share an engine one migrates: its claim, and any sign of a writer, counts for so long. */
  migrationClaimMsMax: 30_000,
  migrationClaimRenewMs: 5_000,
  migrationClaimPollMs: 500,
  /** Longer than an insert takes to become visible, so that of two claims made at once each sees the other. */
  migrationClaimSettleMs: 400,
  /** Other servers are given so long to stop, which is also until one that died is known to be gone. */
  migrationQuietMsMax: 40_000,

  // Requests of clients.
  rateLimitClientsMax: 200_000,
  sessionTokenCharactersMax: 4096,
  /** Cookies of the service's name that are looked at in one request. */
  sessionCookiesMax: 8,

  // Control data.
  controlRefreshMs: 1_000,
  controlRefreshMsMax: 5_000,
  /** Rows that became visible this long after they were written are still seen by the next refresh. */
  controlOverlapMs: 30_000,
  /** A caller that failed to authenticate is checked once more against a state no older than this. */
  controlFreshMsMax: 100,
  passwordChecksAtOnceMax: 2,
  passwordChecksWaitingMax: 64,
  passwordBytesMax: 1024,
  /** So many failures of an account in the window, and each further check of it waits: first the least, then doubled. */
  passwordFailuresMax: 10,
  passwordFailuresWindowMs: 15 * 60_000,
  passwordDelayMsMin: 1_000,
  passwordDelayMsMax: 60_000,
  /** Accounts of which failures are remembered, whether they exist or not. */
  passwordAccountsMax: 50_000,
  /** Checks that wait at once; the reserved ones are for clients that the account knows. */
  passwordWaitsPerAccountMax: 8,
  passwordWaitsPerAccountReserved: 2,
  passwordWaitsMax: 1_024,
  passwordWaitsReserved: 256,
  /** Control rows read at once; a table of any size is read in pages of this. */
  controlPageRowsMax: 20_000,
  /** Changes of one organization that wait for each other. */
  apiKeysPerOrganizationMax: 1_000,
  usersPerOrganizationMax: 20_000,
  controlChangesWaitingMax: 32,

  // Events of the service itself that happened and could not be recorded.
  trailHeldEventsMax: 1_000,
  trailRetryMs: 1_000,

  // Command line.
  cliEngineWaitMsMax: 15_000,
  cliEngineWaitDelayMs: 200,
  cliServerAskMsMax: 2_000,
  /** A key that a command has just made is known to a running server within this. */
  cliKeyKnownMsMax: 10_000,
  cliPasswordMsMax: 120_000,
  progressIntervalMs: 250,
  /** What an import sends at once, each part of at most so many bytes (and the rest of a line) and lines. */
  importRequestsAtOnceMax: 8,
  importChunkBytes: 700_000,
  importChunkLinesMax: 10_000,
  /** A longer line is not even sent; it could not be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  importRequestMsMax: 120_000,
  /** How long an import goes on trying to send the same part. */
  importRetryMsMax: 600_000,
  importRetryDelayMsMin: 200,
  importRetryDelayMsMax: 30_000,
  importCheckpointMs: 1_000,
  importHeadBytes: 64 * 1024,
  demoBatchEvents: 2_000,
  demoBatchesAtOnceMax: 4,
  demoFlushMsMax: 60_000,

  // Forwarding to another system.
  forwardBatchEventsMax: 1000,
  forwardFileBytesMin: 4096,
  /** Short enough for the line of figures to be of now. */
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
  /** A position that moved without any event is written down this often. */
  forwardIdleSaveMs: 60_000,
  forwardAnswerBytesMax: 64 * 1024 * 1024,
  forwardHeaderFileBytesMax: 64 * 1024,

  readinessMsMax: 2_000,
  commandEngineMsMax: 10_000,
  engineRetryAfterSeconds: 2,
  writerRenewMs: 3_600_000,
  shutdownRequestsMsMax: 10_000,
  shutdownFlushMsMax: 10_000,
} as const;
