export const limits = {
  readSpillBytes: 128 * 1024 * 1024,
  watermarkPublishMs: 1_000,
  /** The engine reads all parts at its start, which takes time with many parts or a slow disk. */
  engineStartMsMax: 60_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 2_000,
  engineIdleConnectionMs: 2_500,
  engineReadBytes: 256 * 1024,
  engineHeadBytesMax: 64 * 1024,
  /** A partition without INSERT or merge is merged to one part after two days. */
  quietPartitionSeconds: 172_800,
  insertMsMax: 120_000,
  insertEndMsMax: 60_000,
  /** After this the engine has ended an INSERT, wherever it ran: both together. */
  attemptMsMax: 180_000,
  engineRowsBytesMax: 64 * 1024 * 1024,
  /** End of a result that is held back until the engine reports its outcome; an exception fits. */
  engineTailBytes: 32 * 1024,
  engineErrorCharactersMax: 600,
  engineAskMsMax: 5_000,
  /** With less free room the engine gets no segment and merges nothing, as it does not notice a full disk. */
  engineFreeBytesMin: 256 * 1024 * 1024,
  removalMsMax: 3_600_000,
  readinessMsMax: 2_000,
  /** A server that did not renew its row for this long joins anew before it sends. */
  writerLeaseMs: 20_000,
} as const;
