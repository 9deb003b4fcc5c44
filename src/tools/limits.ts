/** Bounds of the commands that use HTTP or files. */
export const limits = {
  helpColumnsMax: 100,
  /** A longer line cannot be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  /** How long an import retries one request. */
  importRetryMsMax: 600_000,
  importHeadBytes: 64 * 1024,
  /** Checkpoints compared with one tree. */
  verifyCheckpointsMax: 10_000,
  /** Tiles of entries read at once: 131,072 events. Fewer would read out-of-order events more often. */
  verifyTilesAtOnce: 512,
} as const;
