/** Bounds that several folders keep; units last. */
export const limits = {
  /** Of a source event, as its producer sends it. */
  eventBytesMax: 1024 * 1024,
  eventTimeMicrosMin: 0,
  eventTimeMicrosMax: 7_258_118_400_000_000,
  /** How long `/metrics` waits for figures of another program: scrapers give up within seconds, and the engine may hang. */
  metricsWaitMsMax: 250,
  /** The highest `maxErrors` of a request. */
  rejectedErrorsAskedMax: 10_000,
  /** Bodies being received or waiting for a worker, all requests together. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
  /**
   * Unused buffers that a thread keeps: for two bodies of 8 MiB and the INSERT of another. With less, large bodies
   * make the main thread collect garbage.
   */
  bufferPoolBytesMax: 128 * 1024 * 1024,
  retryDelayMsMin: 100,
  /** Damage of one kind that a process remembers; only what it remembers is logged and counted. */
  damageKnownPerKindMax: 10_000,
  /** Damage of one kind that an answer names. */
  damageShownMax: 20,
} as const;
