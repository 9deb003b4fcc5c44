/** Defaults where an option exists. */
export const limits = {
  /** Node.js treats a longer timer as none: 24 days. */
  timerMsMax: 2 ** 31 - 1,
  responseBytesMax: 256 * 1024 * 1024,

  gzipBytesMin: 1024,
} as const;
