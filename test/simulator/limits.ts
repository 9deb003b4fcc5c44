/** Bounds of the simulator, for a quiet machine; `patiently` extends times on a busy one. */
export const limits = {
  /** Default of `--steps`. */
  roundsDefault: 16,
  /** Concurrent operations. */
  lanesMax: 4,
  /** Rounds between two complete checks. */
  roundsBetweenQuietPoints: 4,
  /** A fault strikes at most this long after the round's beginning. */
  faultAfterMsMax: 1_200,
  /** A request, a command or an operation that takes longer has failed. */
  requestMsMax: 20_000,
  commandMsMax: 40_000,
  operationMsMax: 120_000,
  /**
   * Acknowledged events are readable, and stalled work continues. A forgotten claim once held the feed for ten
   * minutes.
   */
  readableMsMax: 30_000,
  /** Unanswered events appear within this time, or never. */
  unansweredMs: 2_000,
  /** A checkpoint covers events of other organizations, even if one organization's tree has stopped. */
  evidenceMsMax: 30_000,
  /** Until all servers and followers know a revocation, a policy or an erasure. */
  graceMs: 7_000,
  /** A machine busier than this factor does not excuse slowness. */
  slownessMax: 4,
  smallBatchEvents: 40,
  largeBatchEvents: 2_000,
  hugeBatchEvents: 20_000,
  bigEventBytes: 200_000,
  /** A granule of the engine has ten megabytes, so 11 to 22 of these; a request has more than one granule. */
  largeEventBytes: 900_000,
  largeEvents: 40,
  /** In one run: more would make each check too long. */
  eventsOfRunMax: 45_000,
  /** Concurrent repeats of one request. */
  repeatsAtOnce: 24,
  /** Concurrent pages of two organizations. */
  pagesAtOnce: 12,
  /** Of a service without requests. */
  openFilesMax: 1_500,
  /**
   * The engine keeps merged parts for two to three minutes, some hundred files a write: 11,200 were seen after 107
   * s.
   */
  dataFilesMax: 40_000,
  /** The engine removes merged and replaced parts at its next cleaning after two minutes. */
  erasedFilesMs: 200_000,
  cleaningMs: 60_000,
  diskBytes: 4 * 1024 ** 3,
  fullDiskMsMax: 5_000,
  residentBytesMax: 3 * 1024 ** 3,
  shownCharactersMax: 600,
} as const;
