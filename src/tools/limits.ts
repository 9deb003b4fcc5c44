/** Bounds of the commands that speak HTTP or read files; units last. */
export const limits = {
  helpColumnsMax: 100,
  /** An import does not send a longer line: it cannot be an event. */
  importLineBytesMax: 4 * 1024 * 1024,
  /** How long an import retries one request. */
  importRetryMsMax: 600_000,
  importHeadBytes: 64 * 1024,
  /** Checkpoints that are compared with one tree. */
  verifyCheckpointsMax: 10_000,
  /**
   * Tiles of entries that are read at once: 131,072 events. Fewer would read events that came out of order more
   * often.
   */
  verifyTilesAtOnce: 512,
} as const;
