/** Bounds of the commands that speak HTTP or read files; units last. */
export const limits = {
  /** `ocsf validate`: a line, which may be a whole document. */
  validateLineBytesMax: 256 * 1024 ** 2,
  /** Lines of a document, which is held in memory. */
  validateDocumentLinesMax: 10_000_000,
  /** Faults that `--json` tells. */
  validateFaultsMax: 1_000,
  /** A running server knows a new key within this. */
  cliKeyKnownMsMax: 10_000,
  progressIntervalMs: 250,
  helpColumnsMax: 100,
  /** Requests of an import at once. */
  importRequestsAtOnceMax: 8,
  /** Bytes of such a request, and the rest of its last line; or fewer that have `importChunkLinesMax` lines. */
  importChunkBytes: 700_000,
  importChunkLinesMax: 10_000,
  /** An import does not send a longer line: it cannot be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  importRequestMsMax: 120_000,
  /** How long an import retries one request. */
  importRetryMsMax: 600_000,
  importCheckpointMs: 1_000,
  /** Ids of records that an import remembers: 16 bytes of a file and about 70 of memory each. */
  importIdsMax: 1_000_000,
  importHeadBytes: 64 * 1024,
  forwardBatchEventsMax: 1000,
  forwardFileBytesMin: 4096,
  /** How long a request for new events waits: short enough to keep the figures current. */
  forwardWaitSeconds: 10,
  /** Events of a stretch of time that is read as one, where the server has no feed. */
  forwardSliceEventsMax: 10_000,
  /** Events of one microsecond, which cannot be divided further. */
  forwardInstantEventsMax: 200_000,
  forwardSliceTriesMax: 5,
  /** Events remembered so that the overlap is not forwarded twice; with more, the overlap is shortened. */
  forwardKnownEventsMax: 50_000,
  /** A destination is another's, and may be overloaded: retries come at most this far apart. */
  forwardRetryDelayMsMax: 30_000,
  /** The same failure is logged again after this long. */
  retryTellMs: 30_000,
  /** How long a process that is asked to end goes on with the batch that is being delivered. */
  forwardStopMsMax: 10_000,
  /** `--once` goes on trying this long. */
  forwardOnceMsMax: 120_000,
  /** The checkpoint saves a position that moved without any event this often. */
  forwardIdleSaveMs: 60_000,
  /** Time between looks at what the receiver's system has taken of a batch. */
  forwardSyslogLookMs: 10,
  forwardAnswerBytesMax: 64 * 1024 * 1024,
  /** Checkpoints that are held against one tree: each is a root to compare. */
  verifyCheckpointsMax: 10_000,
  /** Checkpoints of a copy that are compared: its entries say where a change is, so a few are enough. */
  verifyCopyCheckpointsMax: 1_000,
  /**
   * Tiles of entries that are read at once: 131,072 events. Where events came in another order than that of their times, a
   * stretch is spread over all that the organization has in a part, and each reads that once more: so no fewer.
   */
  verifyTilesAtOnce: 512,
  /** `verify --keep`: requests for tiles at once, how long one may take, and how long one is retried. */
  keepTilesAtOnce: 8,
  keepRequestMsMax: 30_000,
  keepRetryMsMax: 120_000,
  /** Events between the checkpoints that a first run keeps on its way, and so what a broken run repeats at most. */
  keepStepEvents: 1_000_000,
  /** A proof: an event of 1 MiB, escaped as JSON, and hashes. */
  verifyProofBytesMax: 8 * 1024 * 1024,
  secretFileBytesMax: 64 * 1024,
} as const;
