export const limits = {
  /** Entries read at once; 100 bytes each in this process and in the engine. */
  sliceEventsMax: 131_072,
  sliceOrganizationsMax: 500,
  shareOfMachine: 0.1,
  /** The next start makes the checkpoints that are left. */
  stopMsMax: 5_000,
  /** Time between checks for work, between counts, and after a failure or a finding. */
  missingTurnMs: 2_000,
  missingEveryMs: 3_600_000,
  missingRetryMs: 10_000,
  missingQueryMsMax: 600_000,
  /** Each tile has 256 hashes to compute. */
  coveredAtOnce: 50,
} as const;
