/** Bounds of the trees of evidence; units last. */
export const limits = {
  /** Events whose entries are read at once; 100 bytes each, held by this process and the engine. */
  sliceEventsMax: 131_072,
  sliceBytesMax: 32 * 1024 * 1024,
  /** Organizations whose new events are read together. */
  sliceOrganizationsMax: 500,
  /** Trees that are kept open between turns; each is some 30 KB. */
  openTreesMax: 1_000,
  /**
   * Processor time of an event, engine and process together, as measured (bench/notes.md), and the share of the machine that a
   * backlog may take: a pause after each slice keeps to it.
   */
  eventCostMicros: 3.4,
  shareOfMachine: 0.1,
  /** How long the service's end waits for its last checkpoints; the next start makes the rest. */
  stopMsMax: 5_000,
  stopPollMs: 200,
  /** How far ahead the clock may be of a process whose events the end waits for. */
  aheadMsMax: 60_000,
  /** How long reading a slice may take; on a busy machine it takes less. */
  sliceMsMax: 120_000,
  /** Progress without any event is saved this often. */
  idleProgressMs: 600_000,
  /** A tree that stands still is tried again this often: what stopped it may be mended. */
  stoppedRetryMs: 600_000,
  /** Missing events: time between looks for work, between counts, and between counts after a failure or a finding. */
  missingTurnMs: 2_000,
  missingEveryMs: 3_600_000,
  missingRetryMs: 10_000,
  missingQueryMsMax: 600_000,
} as const;
