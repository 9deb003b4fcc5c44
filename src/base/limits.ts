/** Bounds that several folders keep; units last. */
export const limits = {
  eventTimeMicrosMin: 0,
  eventTimeMicrosMax: 7_258_118_400_000_000,
  /** Spans of traces that wait to be sent, and how often and for how long at most they are. */
  traceSpansWaitingMax: 4_096,
  traceExportMs: 2_000,
  traceExportMsMax: 5_000,
  /** What metrics wait for figures of another program: many scrape within seconds, and the engine may hang. */
  metricsWaitMsMax: 250,
  /** As many as a request may ask for. */
  rejectedErrorsAskedMax: 10_000,
  /** Bodies being received or waiting for a worker, all requests together. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
  /**
   * Unused buffers that a thread keeps for its next batches: what is made of two bodies of 8 MiB, and what is read back
   * of another for its INSERT. With less, a sender of these has the main thread collect garbage for each.
   */
  bufferPoolBytesMax: 128 * 1024 * 1024,
  pooledBufferBytesMax: 32 * 1024 * 1024,
  bufferKeptMs: 20_000,
  /** What is compressed to zstd before others have their turn on the event loop. */
  zstdPieceBytes: 64 * 1024,
  retryDelayMsMin: 100,
  /** Damage of one kind that a process remembers, and so logs and counts; and how much of it an answer names. */
  damageKnownPerKindMax: 10_000,
  damageShownMax: 20,
  /** A clock that is further ahead of the time that has passed has jumped, and steps of it together prove no more: one day. */
  clockStepMsMax: 86_400_000,
  /** How often that is looked at, and how far the time has come is noted. */
  clockLookMs: 2_000,
  clockNoteMs: 60_000,
  /** Front ends of one server on one machine. */
  processesMax: 16,
} as const;
