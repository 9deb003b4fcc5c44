/** Bounds of the engine and of what is asked of it; units last. */
export const limits = {
  /** Memory of grouping or sorting a read, above which the engine goes on on the disk. */
  readSpillBytes: 128 * 1024 * 1024,
  readMemoryBytesMax: 768 * 1024 * 1024,
  /** Processes that share an engine publish their watermarks this often. */
  watermarkPublishMs: 1_000,
  /** The clocks of processes that share an engine differ by no more than this. */
  clockSkewMsMax: 2_000,
  /** The engine looks at all parts as it starts: with many, by way of a slow disk, that takes its time. */
  engineStartMsMax: 60_000,
  /** A ClickHouse server that starts at the same moment, or none. */
  serverStartMsMax: 20_000,
  engineStopMsMax: 8_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 2_000,
  /** Connections of the official client, which statements and small results use. */
  statementConnectionsMax: 64,
  /** Shorter than any engine keeps an idle connection (3 s at least). */
  engineIdleConnectionMs: 2_500,
  /** What is read from a socket at a time. */
  engineReadBytes: 256 * 1024,
  engineHeadBytesMax: 64 * 1024,
  engineHeadLinesMax: 200,
  /** After this long without an INSERT or a merge a partition is merged to one part: two days. */
  quietPartitionSeconds: 172_800,
  readQueryMsMax: 30_000,
  insertMsMax: 120_000,
  /** An earlier attempt ends within this time after it has been asked to. */
  insertEndMsMax: 60_000,
  /** After this long the engine has ended an attempt, wherever it runs: both together. */
  attemptMsMax: 180_000,
  /** The result of a read that is parsed here. Pages are not: they are passed on as bytes. */
  engineRowsBytesMax: 64 * 1024 * 1024,
  /** End of a result that is held back until the engine has said whether it failed; an exception fits in it. */
  engineTailBytes: 32 * 1024,
  engineErrorCharactersMax: 600,
  engineStderrBytesMax: 16 * 1024,
  enginePollDelayMs: 10,
  /** How long the embedded engine has for a question at its start and end, and for one whose it is: it may be busy. */
  engineAskMsMax: 5_000,
  enginePortAttemptsMax: 50,
  engineBindAttemptsMax: 5,
  migrationAttemptsMax: 8,
  /** With less room on its disk the engine is given no segment, and merges nothing: it does not notice a full disk. */
  engineFreeBytesMin: 256 * 1024 * 1024,
  /**
   * Time between looks for failed writes. Much shorter than `old_parts_lifetime`, for which the engine keeps the parts of a merge
   * that was cut short.
   */
  engineWritesLookMs: 1_000,
  /** Time between comparisons of the copy of the control data with the tables. */
  controlCompareMs: 3_600_000,
  /** The same while something cannot be put back. */
  controlRetryMs: 10_000,
  controlTurnMs: 1_000,
  /** Time between looks whether the file of the copy is still there. */
  controlCopyLookMs: 60_000,
  /** The copy is written anew once it has this many lines that later ones replace. */
  controlCopySupersededMax: 1_000,
  controlCopyReadBytes: 256 * 1024,
  controlCompareRowsMax: 20_000,
  controlQueryMsMax: 600_000,
  /** How long reading one part whole may take. */
  partCheckMsMax: 1_800_000,
  /** How long any statement may take; most have a bound of their own. */
  statementMsMax: 3_600_000,
  /** A sign of life of a writer counts for this long. */
  writerSignMsMax: 30_000,
  /** A lease ends this long after its holder's last sign of life. */
  leaseMsMax: 30_000,
  leaseRenewMs: 5_000,
  /** Longer than an insert takes to become visible, so that of two that ask for a lease at once each sees the other. */
  leaseAskMs: 400,
  /** How long a command waits for the engine: other commands, of a few seconds each, may have it. */
  cliEngineWaitMsMax: 30_000,
  cliEngineWaitDelayMs: 200,
  /** How long a starting server waits for a command that runs the engine; a service manager gives a start 90 seconds. */
  serverEngineWaitMsMax: 60_000,
  /** Removal of what has expired: how long counting it may take, and one mutation. */
  removalCountMsMax: 120_000,
  removalMsMax: 3_600_000,
  /**
   * Bytes on the disk that mutations (removals, erasures) read each second, for each core. They rewrite whole parts, at some
   * 25 MB/s of a core, and nobody waits for them, as reads leave out what has expired by themselves.
   */
  mutationBytesOfCore: 2_000_000,
  /** Organizations that one mutation names. */
  removalOrganizationsMax: 200,
  /** A statement that replaces texts of events: `erasureBytesOfStep`, or the largest event, with quotes and backslashes escaped. */
  replaceQueryBytesMax: 64 * 1024 * 1024,
  readinessMsMax: 2_000,
  /** Each of several addresses of an engine is asked this often whether it answers within `readinessMsMax`. */
  nodeProbeMs: 1_000,
  /** Time between questions whether an earlier attempt has ended on all nodes, and whether replicas have what was stored. */
  attemptPollMs: 200,
  writerRenewMs: 3_600_000,
  /** Time in which a server on the original of a copied data directory gives a sign of life. */
  writerCopyLookMs: 5_000,
  /** After this long without a sign of life that the engine took, a server joins the others anew before it sends anything. */
  writerLeaseMs: 20_000,
  /** The feed is always a few seconds behind. Beyond this the log names whom it waits for. */
  feedHeldMsMin: 10_000,
  feedHeldLogMs: 60_000,
} as const;
