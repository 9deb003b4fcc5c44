export const limits = {
  /** Of a source event, as its producer sends it. */
  eventBytesMax: 1024 * 1024,
  eventTimeMicrosMin: 0,
  eventTimeMicrosMax: 7_258_118_400_000_000,
  /**
   * How long `/metrics` waits for another program's figures: scrapers give up within seconds, and the engine
   * may hang.
   */
  metricsWaitMsMax: 250,
  rejectedErrorsAskedMax: 10_000,
  /** Bodies being received or waiting for a worker, over all requests. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
  /**
   * Two bodies of 8 MiB and the INSERT of another. With less, large bodies trigger collections on the main
   * thread.
   */
  bufferPoolBytesMax: 128 * 1024 * 1024,
  retryDelayMsMin: 100,
  /** Only remembered damage is logged and counted. */
  damageKnownPerKindMax: 10_000,
  damageShownMax: 20,
} as const;
