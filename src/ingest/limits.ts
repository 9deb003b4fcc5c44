/** Bounds of ingest and of its log; units last. */
export const limits = {
  rejectedErrorsReportedMax: 100,
  /** Small bodies wait this long for others, to be mapped as one task. */
  gatherDelayMsMax: 2,
  /** Bytes of such a task. A hostile sender, all of whose events are rejected, adds up to 20 ms to the wait of the others in it. */
  gatherBytesMax: 64 * 1024,
  gatherRequestsMax: 256,
  /** With this many tasks waiting for a worker, a group is held until it is full or the group before it is mapped. */
  gatherQueuedTasks: 64,
  /** Plain bodies up to this size have a worker thread of their own, which nothing large ever holds. */
  smallBodyBytesMax: 16 * 1024,
  /** Plain bodies above this size, and all compressed ones, are divided between the workers. */
  splitBytesMin: 1024 * 1024,
  /** Size of the pieces, so that the block made of one fits into a buffer of 1 MiB. */
  pieceBytes: 400 * 1024,
  /** A body of which more than this stays in memory keeps its place among the large ones until the log has it. */
  keptBytesMin: 4 * 1024 * 1024,
  /** Organizations whose large bodies are decompressed and mapped at the same time. */
  largeBodyOrganizationsMax: 4,
  /** Of one organization: as many large bodies at a time as there are threads, and this many more, so that no thread idles. */
  largeBodiesBeyondThreads: 1,
  largeBodiesWaitingPerOrganizationMax: 256,
  largeBodiesWaitingMax: 1024,
  largeBodyWaitMsMax: 30_000,
  /** A body with more rejected events is refused whole. */
  rejectedEventsMax: 100_000,
  /** For each API key and reason one rejected event is logged in this time. */
  rejectionLogMs: 60_000,
  /** Pairs of key and reason that are remembered for that. */
  rejectionLogKeysMax: 10_000,
  /** A body is made into strings of this size: small ones stay in the processor's cache. */
  windowBytes: 64 * 1024,
  workerQueueTasksMax: 1024,
  workerTaskMsMax: 30_000,
  workerHeapMegabytesMax: 512,
  workerYoungMegabytesMax: 64,
  /** INSERTs of segments at the same time. */
  segmentsInFlightMax: 2,
  /** Those of large segments: the other place is for small ones, which so never wait for a large one. */
  largeSegmentsInFlightMax: 1,
  /**
   * The engine is behind when the oldest rows have waited this long beyond FLUSH_INTERVAL. It is a third of the second that
   * readers are promised, as INSERTs take time, too.
   */
  segmentWaitMsMax: 350,
  /** With less than this in the log ingest is not throttled: an engine is slow with little for other reasons than load. */
  throttleBytesMin: 32 * 1024 * 1024,
  /** Longest wait of a task for an engine that is behind. */
  throttleHoldMsMax: 2_000,
  /** Longest time for which a large batch delays later ones. */
  throttleDebtMsMax: 10_000,
  /** Time between looks whether the engine has caught up. */
  throttleCheckMs: 50,
  /** The engine's rate is measured over this time. */
  throttleRateMs: 2_000,
  /** Times that a segment is read before it counts as damaged. */
  damagedSegmentTries: 3,
  /** A segment is read back in pieces of this size, or of the largest frame in it. */
  segmentPieceBytes: 1024 * 1024,
  frameBytesMax: 256 * 1024 * 1024,
  blockRowsMax: 65_536,
  /** Events that one request may hold; a segment numbers a few more. */
  batchEventsMax: 1_000_000,
  blockPayloadBytesMax: 16 * 1024 * 1024,
  idempotencyWindowMs: 24 * 3_600_000,
  /** Keys are forgotten by chunks of this many, which take 14 MB. */
  idempotencyChunkKeys: 2 ** 18,
  /** Beside the newest one: a million keys. */
  idempotencyChunksMax: 4,
  /** Errors of remembered answers: once for those in memory, once for those in files. */
  idempotencyErrorsBytesMax: 128 * 1024 * 1024,
  /** All files of answers: as much as the keys in memory take if each has a block of its own. */
  idempotencyFilesBytesMax: 640 * 1024 * 1024,
  idempotencyFileBytesMax: 8 * 1024 * 1024,
  /** What is read of a file at a time; small answers are gathered to blocks of this size. */
  idempotencyBlockBytesMax: 1024 * 1024,
  /** The errors of one answer: 10,000 of them have 1 MB, the longest ones 10 MB. */
  idempotencyPartBytesMax: 16 * 1024 * 1024,
  /** That answers are forgotten before their time is logged once in this time. */
  idempotencyForgottenLogMs: 600_000,
  retryDelayMsMax: 5_000,
  /** What clients are told while the log is full. */
  walRetryAfterSeconds: 5,
  /** Time between tries of a log that could not be written. */
  walProbeMs: 1_000,
  /** One write covers at most this much, so that the first of a long queue does not wait for the last. */
  walGroupBytesMax: 16 * 1024 * 1024,
  /** An append from this size on has a segment of its own, so that nobody waits for it or for its INSERT. */
  walLargeAppendBytesMin: 16 * 1024 * 1024,
  /** Such an append is written in slices of this size, with the writes of others between them (figures: bench/notes.md). */
  walSliceBytesMax: 1024 * 1024,
  /**
   * With less room on its disk the log takes no events of producers: the embedded engine needs `engineFreeBytesMin` to
   * take over what is there, and the service's own events need the reserve below.
   */
  walKeepFreeBytes: 512 * 1024 * 1024,
  /** With less the log takes nothing. Between the two it has room for half a million events of the service itself. */
  walKeepFreeOfServiceBytes: 64 * 1024 * 1024,
  /** The disk's free room is asked for this often. */
  walRoomMsMax: 250,
  /** A segment takes appends until the next is there, up to twice its size, but no more than a read takes. */
  walOverfullBytesMax: 1024 ** 3,
  /** Segments that a manifest of the log names. Where more wait, a start does not check the ends of the oldest. */
  walManifestSegmentsMax: 4_096,
  /** Organizations of which it is remembered when events last came. */
  arrivalsOrganizationsMax: 10_000,
  /** Time between looks for events that commands have left. */
  handedEventsLookMs: 50,
  /** A command waits so long until the server has stored what it left. */
  handedEventsWaitMsMax: 3_000,
  /** So far ahead of the clock is what `wal-order` allows numbers and watermarks to reach without another write: 2 s. */
  orderReserveSegments: 200 * 64,
  /** Segments of which it is remembered which numbers had been given out when they were stored. */
  settledSegmentsMax: 10_000,
  shutdownFlushMsMax: 10_000,
  /** Times that the files of a log in use are listed again because one went before it could be opened. */
  heldLogAttemptsMax: 100,
} as const;
