/** Bounds of the engine and of what is asked of it; units last. */
export const limits = {
  /** Memory of grouping or sorting a read, above which the engine goes on on the disk. */
  readSpillBytes: 128 * 1024 * 1024,
  readMemoryBytesMax: 768 * 1024 * 1024,
  /** How far a log has come is told a little later where this takes longer. */
  logNoteMsMax: 2_000,
  /** Processes that share an engine publish their watermarks this often, and keep their clocks this close. */
  watermarkPublishMs: 1_000,
  clockSkewMsMax: 2_000,
  /** The clock is compared with theirs this often. */
  clockCheckMs: 30_000,
  /** A command's claim lapses so long after its last sign of life, and those that are over are looked for so often. */
  commandClaimMsMax: 20_000,
  commandClaimLookMs: 2_000,
  engineStartMsMax: 20_000,
  engineStopMsMax: 8_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 2_000,
  /** Of the official client: for statements and small results. */
  statementConnectionsMax: 64,
  /** Shorter than any engine keeps an idle connection (3 s at least). */
  engineIdleConnectionMs: 2_500,
  /** Read from a socket at once. */
  engineReadBytes: 256 * 1024,
  engineHeadBytesMax: 64 * 1024,
  engineHeadLinesMax: 200,
  /** After this long without an INSERT or a merge a partition is merged to one part: two days. */
  quietPartitionSeconds: 172_800,
  readQueryMsMax: 30_000,
  insertMsMax: 120_000,
  /** An earlier attempt ends within this time after it has been asked to. */
  insertEndMsMax: 60_000,
  /** Result of one parsed read (not a page: those are passed on as bytes). */
  engineRowsBytesMax: 64 * 1024 * 1024,
  /** End of a result that is held back until the engine has said whether it failed; an exception fits in it. */
  engineTailBytes: 32 * 1024,
  engineErrorCharactersMax: 600,
  engineStderrBytesMax: 16 * 1024,
  enginePollDelayMs: 10,
  engineAskMsMax: 1_000,
  enginePortAttemptsMax: 50,
  engineBindAttemptsMax: 5,
  migrationAttemptsMax: 8,
  /** With less room on its disk the engine is given nothing, and merges nothing: it does not notice a full disk. */
  engineFreeBytesMin: 256 * 1024 * 1024,
  /** The ledger of stored events: how often it looks whether there is something to do, counts, and compares. */
  ledgerTurnMs: 1_000,
  ledgerCountMs: 5_000,
  ledgerCompareMs: 3_600_000,
  /** After a comparison that failed, as the engine was away or a part cannot be read. */
  ledgerRetryMs: 5_000,
  /** While events are missing: what the operator has mended or recorded is soon seen. */
  ledgerRecompareMs: 10_000,
  /** What takes long is done less often: its pauses are so many times as long as it took. */
  ledgerShareOfTime: 50,
  ledgerQueryMsMax: 600_000,
  ledgerStopMsMax: 2_000,
  /** Days of partitions; each is some 60 bytes. */
  ledgerCountsMax: 100_000,
  /** The copy of the control data: when it is held against the tables, while something cannot be put back, and how often it is looked at. */
  controlCompareMs: 3_600_000,
  controlRetryMs: 10_000,
  controlTurnMs: 1_000,
  controlCopyLookMs: 60_000,
  /** Lines of it that say nothing any more, before it is written anew; what is read of it at once. */
  controlCopySupersededMax: 1_000,
  controlCopyReadBytes: 256 * 1024,
  controlCompareRowsMax: 20_000,
  /** Parts that the engine has set aside are looked for, and while damage is known, whether it is still there. */
  partsLookMs: 60_000,
  damageLookMs: 2_000,
  /** Reading one part whole. */
  partCheckMsMax: 1_800_000,
  /** Of any statement; most have a bound of their own. */
  statementMsMax: 3_600_000,
  /** A sign of a writer counts for so long. */
  writerSignMsMax: 30_000,
  /** How often it is looked whether claims of commands have ended. */
  claimPollMs: 500,
  /** A lease ends so long after the last sign of life. */
  leaseMsMax: 30_000,
  leaseRenewMs: 5_000,
  /** Longer than an insert takes to become visible, so that of two that ask for a lease at once each sees the other. */
  leaseAskMs: 400,
  /** A command takes a few seconds; several may have come before. */
  cliEngineWaitMsMax: 30_000,
  cliEngineWaitDelayMs: 200,
  /** A server waits so long for a command that runs the engine; a service manager gives a start 90 seconds. */
  serverEngineWaitMsMax: 60_000,
  /** Removing what has expired: a question how much there is, one mutation, and the organizations that one names. */
  removalCountMsMax: 120_000,
  removalMsMax: 3_600_000,
  /**
   * What mutations (removals, erasures) read a second for each core, as it is on the disk: they rewrite whole parts, at some
   * 25 MB/s of a core, and nobody waits for them, as reads leave out by themselves what has expired.
   */
  mutationBytesOfCore: 2_000_000,
  removalOrganizationsMax: 200,
  /** A statement that replaces texts of events: what `erasureBytesOfStep`, or the largest event, becomes with its quotes and backslashes. */
  replaceQueryBytesMax: 64 * 1024 * 1024,
  readinessMsMax: 2_000,
  /** Of several addresses each is asked this often whether it answers, within `readinessMsMax`. */
  nodeProbeMs: 1_000,
  /** Until an earlier attempt has ended on all nodes, and replicas have what was stored: how often that is asked. */
  attemptPollMs: 200,
  writerRenewMs: 3_600_000,
  /** Claims on Idempotency-Keys: how long they count, and how long the engine has for a question about them. */
  keyWindowMs: 24 * 3_600_000,
  keyAskMsMax: 2_000,
  keyForgetEveryMs: 3_600_000,
  keyForgottenAtOnceMs: 24 * 3_600_000,
  /** Servers that share an engine say so often that they are alive; one that has not for longer is away. */
  writerSeenMs: 5_000,
  writerRunStaleMs: 15_000,
  /** A start looks so often whether another server on a copy of its data directory is seen again. */
  writerRunLookMs: 500,
  /** After so long without a word to the engine a server asks whether it was fenced before it sends a segment. */
  writerLeaseMs: 20_000,
  /** Since it was last seen: the lease, the longest INSERT that it can have begun, and the engine's own end of that. */
  writerFenceAfterMs: 180_000,
  /** The feed is always a few seconds behind; above this, whoever it waits for is named. */
  feedHeldMsMin: 10_000,
  feedHeldLogMs: 60_000,
} as const;
