/** Every bound of the service that is not configuration, in one place; units last. */
export const limits = {
  // Events (contract: an event is at most 1 MiB, times from 1970 to 2200).
  eventBytesMax: 1024 * 1024,
  eventDepthMax: 128,
  eventTimeMicrosMin: 0,
  eventTimeMicrosMax: 7_258_118_400_000_000,
  rejectedErrorsReportedMax: 100,

  // Pages.
  pageLimitDefault: 50,
  pageLimitMax: 1000,
  /** A page up to this size is held until the engine has finished it; a larger one is streamed. */
  pageBufferedBytesMax: 32 * 1024 * 1024,
  compressBytesMin: 1024,

  // HTTP.
  headersBytesMax: 16 * 1024,
  requestIdCharactersMax: 128,
  idempotencyKeyCharactersMax: 255,
  bodyIdleTimeoutMs: 30_000,
  /** Bodies being received or waiting for a worker, all requests together. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,

  // Ingest.
  gatherDelayMsMax: 2,
  gatherBytesMax: 128 * 1024,
  gatherRequestsMax: 256,
  workerQueueTasksMax: 1024,
  workerTaskMsMax: 30_000,
  segmentRowsMax: 1024 * 1024,
  segmentsInFlightMax: 2,
  frameBytesMax: 256 * 1024 * 1024,
  idempotencyWindowMs: 24 * 3_600_000,
  idempotencyKeysMax: 500_000,
  retryDelayMsMin: 100,
  retryDelayMsMax: 5_000,
  walRetryAfterSeconds: 5,

  // Engine.
  engineStartMsMax: 20_000,
  engineStopMsMax: 8_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 10_000,
  engineConnectionsMax: 64,
  readQueryMsMax: 30_000,
  insertMsMax: 120_000,

  // Control data.
  controlRefreshMs: 1_000,
  shutdownRequestsMsMax: 10_000,
  shutdownFlushMsMax: 10_000,
} as const;
