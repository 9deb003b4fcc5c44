/** Bounds of the simulator. Times are those of a quiet machine; `patiently` makes them longer on a busy one. */
export const limits = {
  /** Rounds of a run, unless `--steps` says otherwise. */
  roundsDefault: 16,
  /** Operations that run at the same time. */
  lanesMax: 4,
  /** Between two looks at everything. */
  roundsBetweenQuietPoints: 4,
  /** Into a round, a fault comes at most so late. */
  faultAfterMsMax: 1_200,
  /** A request, a command, a whole operation: what takes longer does not end. */
  requestMsMax: 20_000,
  commandMsMax: 40_000,
  operationMsMax: 120_000,
  /** What was acknowledged is read back, what stood still goes on. A forgotten claim held the feed for ten minutes. */
  readableMsMax: 30_000,
  /** What was sent without an answer comes by then, or never. */
  unansweredMs: 2_000,
  /** Events of other organizations are covered by a checkpoint, whatever happens to one. */
  evidenceMsMax: 30_000,
  /** Until a revocation, a policy or an erasure is known everywhere, with what was read ahead for followers. */
  graceMs: 7_000,
  /** Factor at which a busy machine is no excuse any more. */
  slownessMax: 4,
  smallBatchEvents: 40,
  largeBatchEvents: 2_000,
  hugeBatchEvents: 20_000,
  bigEventBytes: 200_000,
  /** Ten megabytes are a granule of the engine, so one has 11 to 22 of these, and a request brings more than one. */
  largeEventBytes: 900_000,
  largeEvents: 40,
  /** Of one run: more would make each look at everything too long. */
  eventsOfRunMax: 45_000,
  /** Repeats of one request that are sent at once. */
  repeatsAtOnce: 24,
  /** Pages that are read at once, of two organizations. */
  pagesAtOnce: 12,
  /** Of a service whose every request has ended. */
  openFilesMax: 1_500,
  /** The engine keeps what it has merged for two to three minutes, some hundred files for each write: 11,200 were seen after 107 s. */
  dataFilesMax: 40_000,
  /** Merged and replaced parts of the engine go after two minutes, when they are next cleaned. */
  erasedFilesMs: 200_000,
  cleaningMs: 60_000,
  diskBytes: 4 * 1024 ** 3,
  fullDiskMsMax: 5_000,
  residentBytesMax: 3 * 1024 ** 3,
  shownCharactersMax: 600,
} as const;
