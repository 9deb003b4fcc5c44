/** Bounds of several processes on one machine; units last. */
export const limits = {
  /** How long a start waits for a directory whose process was killed a moment ago. */
  lockWaitMsMax: 10_000,
  /** Time between tries to take over the log of a process that is gone. */
  leftRetryMs: 5_000,
  /** A front end that ends is started again after a delay that doubles up to this; one that ran for longer, at once. */
  restartDelayMsMin: 100,
  restartDelayMsMax: 5_000,
  /** How long front ends may finish requests and send what is in their logs. */
  stopMsMax: 60_000,
  /** How long one process waits for another that has nothing to wait for itself. */
  askMsMax: 2_000,
  /** How long it waits for what has to be gathered from all. */
  gatherMsMax: 5_000,
  /** How long it waits for a look at the engine and its files, for a file that is written, and for its task at the start. */
  engineAskMsMax: 60_000,
  /** Lines of the access log that standard output has not taken. */
  linesBufferedBytesMax: 16 * 1024 * 1024,
  /** A longer line is left out. */
  lineBytesMax: 1024 * 1024,
} as const;
