export const limits = {
  rejectedErrorsReportedMax: 100,
  gatherDelayMsMax: 2,
  /** Bytes of such a task. A hostile sender with only invalid events adds up to 20 ms to the others' wait. */
  gatherBytesMax: 64 * 1024,
  /** With this many queued tasks, a group waits until it is full or the previous group is mapped. */
  gatherQueuedTasks: 64,
  /** Plain bodies up to this size have a worker thread of their own. */
  smallBodyBytesMax: 16 * 1024,
  splitBytesMin: 1024 * 1024,
  pieceBytes: 400 * 1024,
  /** A body that keeps more than this in memory keeps its slot until the log has it. */
  keptBytesMin: 4 * 1024 * 1024,
  /** Large bodies of one organization beyond one per thread, so that no thread idles. */
  largeBodiesBeyondThreads: 1,
  largeBodiesWaitingPerOrganizationMax: 256,
  /** Beyond this the whole body is refused. */
  rejectedEventsMax: 100_000,
  rejectionLogMs: 60_000,
  rejectionLogKeysMax: 10_000,
  segmentsInFlightMax: 2,
  throttleHoldMsMax: 2_000,
  /** Longest delay that a large batch causes later ones. */
  throttleDebtMsMax: 10_000,
  /** Window over which the engine's rate is measured. */
  throttleRateMs: 2_000,
  segmentPieceBytes: 1024 * 1024,
  batchEventsMax: 1_000_000,
  idempotencyWindowMs: 24 * 3_600_000,
  idempotencyKeysMax: 1_000_000,
  /** Applies to errors in memory, and again to those in files. */
  idempotencyErrorsBytesMax: 128 * 1024 * 1024,
  /** All files of answers: lines of a million keys have 90 MB. */
  idempotencyFilesBytesMax: 128 * 1024 * 1024,
  idempotencyFileBytesMax: 8 * 1024 * 1024,
  /** Errors of one answer: 10,000 take 1 MB, the longest ones 10 MB. */
  idempotencyPartBytesMax: 16 * 1024 * 1024,
  /** Appends from this size on have a segment of their own, so that others do not wait for them. */
  walLargeAppendBytesMin: 16 * 1024 * 1024,
  arrivalsOrganizationsMax: 10_000,
  /** A command waits this long for the server to store its events. */
  commandFlushMsMax: 3_000,
} as const;
