/** Bounds of ingest and of its log; units last. */
export const limits = {
  rejectedErrorsReportedMax: 100,
  gatherDelayMsMax: 2,
  /** Also what one hostile sender can add to the wait of those gathered with it: 20 ms where all of it is rejected. */
  gatherBytesMax: 64 * 1024,
  gatherRequestsMax: 256,
  /** From so many tasks that wait for a worker on, a group waits until it is full or the one before is mapped. */
  gatherQueuedTasks: 64,
  /** Plain bodies up to this size have a worker thread of their own, which nothing large ever holds. */
  smallBodyBytesMax: 16 * 1024,
  /** Bodies above this, and all compressed ones, are divided between the workers, in pieces of about this size:
   * what is made of one fits into a buffer of 1 MiB. */
  splitBytesMin: 1024 * 1024,
  pieceBytes: 400 * 1024,
  /** A body of which more than this is kept has its place until that is stored. */
  keptBytesMin: 4 * 1024 * 1024,
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
  workerQueueTasksMax: 1024,
  workerTaskMsMax: 30_000,
  workerHeapMegabytesMax: 512,
  workerYoungMegabytesMax: 64,
  segmentsInFlightMax: 2,
  /** Of them: the other place is for small ones, which then never wait for a large one. */
  largeSegmentsInFlightMax: 1,
  /** Beyond FLUSH_INTERVAL; a third of what a reader is promised, as the INSERT that is under way takes time too. */
  segmentWaitMsMax: 350,
  /** With less than this in the log no engine is behind for want of processors. */
  throttleBytesMin: 32 * 1024 * 1024,
  /** The oldest task waits no longer for an engine that is behind, and a large batch is held against later ones no longer. */
  throttleHoldMsMax: 2_000,
  throttleDebtMsMax: 10_000,
  /** So often it is looked whether the engine has caught up. */
  throttleCheckMs: 50,
  /** Over this time it is measured what the engine takes. */
  throttleRateMs: 2_000,
  damagedSegmentTries: 3,
  /** A segment is read back in pieces of this size, or of the largest frame in it. */
  segmentPieceBytes: 1024 * 1024,
  frameBytesMax: 256 * 1024 * 1024,
  blockRowsMax: 65_536,
  /** Events that one request may hold; a segment numbers a few more. */
  batchEventsMax: 1_000_000,
  blockPayloadBytesMax: 16 * 1024 * 1024,
  idempotencyWindowMs: 24 * 3_600_000,
  /** Keys go from memory so many at once, 14 MB of them; beside the newest chunk there are 10 million. */
  idempotencyChunkKeys: 2 ** 18,
  idempotencyChunksMax: 40,
  /** In memory, and in files of their own. */
  idempotencyErrorsBytesMax: 128 * 1024 * 1024,
  /** As much as keys in memory take where each has a block of its own; one file; what is read at once, and a block has of small parts. */
  idempotencyFilesBytesMax: 640 * 1024 * 1024,
  idempotencyFileBytesMax: 8 * 1024 * 1024,
  idempotencyBlockBytesMax: 1024 * 1024,
  /** The errors of one answer: 10,000 of them have 1 MB, and of the longest 10. */
  idempotencyPartBytesMax: 16 * 1024 * 1024,
  /** It is logged once in this time that answers are forgotten before their time. */
  idempotencyForgottenLogMs: 600_000,
  /** Keys that processes share: so many are asked about, or claimed, in one statement, */
  keyBatchMax: 500,
  /** so many answers are told in one, and so seldom how far all of them are. */
  keyTellMax: 5_000,
  keyMarkMs: 10_000,
  /** for so long a request waits for the answer of the process that has its key. */
  keyWaitMsMax: 3_000,
  /** for so long an engine that does not answer is asked, */
  keyEngineMsMax: 2_000,
  keyPollMsMin: 10,
  keyPollMsMax: 200,
  /** and then for so long it is not asked. */
  keyRetryMs: 1_000,
  /** Longer than a claim is on its way to the engine after its process has died. */
  keyResolveMs: 10_000,
  /** For so long a start waits until the others know what a process has answered that is gone. */
  keyShareWaitMsMax: 20_000,
  /** What waits to be told to other processes while the engine is away; beyond it the oldest is not told. */
  keyOutboxMax: 100_000,
  retryDelayMsMax: 5_000,
  walRetryAfterSeconds: 5,
  walProbeMs: 1_000,
  /** One sync covers at most this much, so that the first of a long queue does not wait for the last. */
  walGroupBytesMax: 16 * 1024 * 1024,
  /** An append from this size on has a segment of its own, so that nobody waits for it or for its INSERT, */
  walLargeAppendBytesMin: 16 * 1024 * 1024,
  /**
   * and is written in slices, with the syncs of others between them. Of 4 MiB each, small ones wait twice as long, and
   * the disk writes a third as much (bench/notes.md).
   */
  walSliceBytesMax: 1024 * 1024,
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
  /** So late is noted beside the log what has changed in it. */
  walHeadMsMax: 100,
  /** So late, and so often at most, in the engine how far the log has come. */
  logNoteMs: 5_000,
  /** Organizations of which it is remembered when events last came. */
  arrivalsOrganizationsMax: 10_000,
  /** An empty segment older than this gets a new number before its first event, or when somebody asks for the watermark. */
  walNumberAgeMsMax: 200,
  shutdownFlushMsMax: 10_000,
  /** Between looks for what is to be sealed, in a log that was taken over from another process and takes nothing more. */
  orphanedLogPollMs: 200,
  /** How often the files of a log in use are listed again, as one went before it could be opened. */
  heldLogAttemptsMax: 100,
} as const;
