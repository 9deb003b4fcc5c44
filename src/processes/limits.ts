/** Bounds of several processes on one machine; units last. */
export const limits = {
  /** A directory whose process was killed a moment ago is waited for. */
  lockWaitMsMax: 10_000,
  /** After a failure to take over the log of a process that is gone. */
  leftRetryMs: 5_000,
  /** A front end that ends is started again after a delay that doubles up to this; one that ran for longer, at once. */
  restartDelayMsMin: 100,
  restartDelayMsMax: 5_000,
  /** Front ends are given so long to finish requests and to send what is in their logs. */
  stopMsMax: 60_000,
  /** For an answer of one process to another that has nothing to wait for. */
  askMsMax: 2_000,
  /** For one that has to be gathered from all. */
  gatherMsMax: 5_000,
  /** For a look at the engine and its files. */
  engineAskMsMax: 60_000,
  /** Of access-log lines that standard output has not taken. */
  linesBufferedBytesMax: 16 * 1024 * 1024,
  /** What has no end after this is no line, and is left out. */
  lineBytesMax: 1024 * 1024,
} as const;
