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
   * What an event costs engine and process together, measured, and the share of the machine that a backlog may take:
   * slices are followed by a pause that keeps to it.
   */
  eventCostMicros: 3.4,
  shareOfMachine: 0.1,
  /** How long the end of the service waits for its last checkpoints; what is left then is for the next start. */
  stopMsMax: 5_000,
  stopPollMs: 200,
  /** By how much the clock of a process whose events it waits for may be ahead. */
  aheadMsMax: 60_000,
  /** Of a slice: longer than it takes on a busy machine. */
  sliceMsMax: 120_000,
  /** Progress without any event is saved this often. */
  idleProgressMs: 600_000,
  /** A tree that stands still is tried again this often: what stopped it may be mended. */
  stoppedRetryMs: 600_000,
  /** Tiles that are read at once to be copied. */
  mirrorTilesAtOnce: 64,
  /** Witnesses are looked after this often; one that has not cosigned a checkpoint is asked again after a while. */
  witnessEveryMs: 500,
  witnessAgainMs: 60_000,
  witnessOrganizationsAtOnce: 8,
  /** Of a witness: how long its two answers may take together, and how long each may be. */
  witnessMsMax: 10_000,
  witnessAnswerBytesMax: 16 * 1024,
  /** Organizations whose checkpoints wait for a witness, or of which is remembered what it has cosigned. */
  witnessOrganizationsMax: 10_000,
} as const;
