export const limits = {
  helpColumnsMax: 100,
  /** A longer line cannot be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  importRetryMsMax: 600_000,
  importHeadBytes: 64 * 1024,
  verifyCheckpointsMax: 10_000,
  /** Tiles of entries read at once: 131,072 events. Fewer would read out-of-order events more often. */
  verifyTilesAtOnce: 512,
} as const;
