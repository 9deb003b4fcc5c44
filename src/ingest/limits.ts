/** Bounds of ingest and of its log; units last. */
export const limits = {
  rejectedErrorsReportedMax: 100,
  /** Small bodies wait this long for others, to be mapped as one task. */
  gatherDelayMsMax: 2,
  /** Bytes of such a task. A hostile sender, all of whose events are rejected, adds up to 20 ms to the wait of the others in it. */
  gatherBytesMax: 64 * 1024,
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
  /** Of one organization: as many large bodies at a time as there are threads, and this many more, so that no thread idles. */
  largeBodiesBeyondThreads: 1,
  largeBodiesWaitingPerOrganizationMax: 256,
  /** A body with more rejected events is refused whole. */
  rejectedEventsMax: 100_000,
  /** For each API key and reason one rejected event is logged in this time. */
  rejectionLogMs: 60_000,
  /** Pairs of key and reason that are remembered for that. */
  rejectionLogKeysMax: 10_000,
  /** INSERTs of segments at the same time. */
  segmentsInFlightMax: 2,
  /** Longest wait of a task for an engine that is behind. */
  throttleHoldMsMax: 2_000,
  /** Longest time for which a large batch delays later ones. */
  throttleDebtMsMax: 10_000,
  /** The engine's rate is measured over this time. */
  throttleRateMs: 2_000,
  /** A segment is read back in pieces of this size, or of the largest frame in it. */
  segmentPieceBytes: 1024 * 1024,
  /** Events that one request may hold; a segment numbers a few more. */
  batchEventsMax: 1_000_000,
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
  /** The errors of one answer: 10,000 of them have 1 MB, the longest ones 10 MB. */
  idempotencyPartBytesMax: 16 * 1024 * 1024,
  /** An append from this size on has a segment of its own, so that nobody waits for it or for its INSERT. */
  walLargeAppendBytesMin: 16 * 1024 * 1024,
  /** Organizations of which it is remembered when events last came. */
  arrivalsOrganizationsMax: 10_000,
  /** A command waits so long until the server has stored what it left. */
  commandFlushMsMax: 3_000,
} as const;
