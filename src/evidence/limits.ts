export const limits = {
  /** Entries read at once; 100 bytes each in this process and in the engine. */
  sliceEventsMax: 131_072,
  sliceOrganizationsMax: 500,
  shareOfMachine: 0.1,
  /** Wait for the last checkpoints; the next start makes the rest. */
  stopMsMax: 5_000,
  /** Missing events: time between checks for work, between counts, and after a failure or a finding. */
  missingTurnMs: 2_000,
  missingEveryMs: 3_600_000,
  missingRetryMs: 10_000,
  missingQueryMsMax: 600_000,
  /** Events of a case file whose tiles are read at once: each has 256 hashes to make. */
  coveredAtOnce: 50,
} as const;
