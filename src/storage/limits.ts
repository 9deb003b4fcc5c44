/** Bounds of the engine and of what is asked of it; units last. */
export const limits = {
  /** Memory of grouping or sorting a read, above which the engine goes on on the disk. */
  readSpillBytes: 128 * 1024 * 1024,
  /** Processes that share an engine publish their watermarks this often. */
  watermarkPublishMs: 1_000,
  /** The engine looks at all parts as it starts: with many, by way of a slow disk, that takes its time. */
  engineStartMsMax: 60_000,
  engineRestartDelayMsMin: 100,
  engineRestartDelayMsMax: 2_000,
  /** Shorter than any engine keeps an idle connection (3 s at least). */
  engineIdleConnectionMs: 2_500,
  /** What is read from a socket at a time. */
  engineReadBytes: 256 * 1024,
  engineHeadBytesMax: 64 * 1024,
  /** After this long without an INSERT or a merge a partition is merged to one part: two days. */
  quietPartitionSeconds: 172_800,
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
  /** How long the embedded engine has for a question at its start and end, and for one whose it is: it may be busy. */
  engineAskMsMax: 5_000,
  /** With less room on its disk the engine is given no segment, and merges nothing: it does not notice a full disk. */
  engineFreeBytesMin: 256 * 1024 * 1024,
  /** How long one mutation may take. */
  removalMsMax: 3_600_000,
  readinessMsMax: 2_000,
  /** After this long without a sign of life that the engine took, a server joins the others anew before it sends anything. */
  writerLeaseMs: 20_000,
} as const;
