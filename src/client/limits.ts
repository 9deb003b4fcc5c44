/** Bounds of the client; units last. What an option may change is a default here. */
export const limits = {
  /** Node.js takes a longer one for none at all: 24 days. */
  timerMsMax: 2 ** 31 - 1,
  responseBytesMax: 256 * 1024 * 1024,

  gzipBytesMin: 1024,
} as const;
