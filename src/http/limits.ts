export const limits = {
  scimPageMax: 200,
  headersBytesMax: 16 * 1024,
  /** Idle time announced to clients. The library closes idle connections after 8 to 12 s. */
  keepAliveHintSeconds: 7,
  /** Before its request is authorized. */
  unreadBodyBytesMax: 64 * 1024,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,
  jsonBodyBytesMax: 64 * 1024,
  /**
   * A body must bring `bodyBytesPerSecondMin` or end in this time; the library closes the connection after 8
   * to 12 s.
   */
  bodySlowMsMax: 7_000,
  bodyBytesPerSecondMin: 16 * 1024,
  /** An unwanted body is discarded up to this size; a larger one ends the connection. */
  ignoredBodyBytesMax: 64 * 1024,
  /** The rest of a refused body is discarded up to this size and time, so that its sender sees the answer. */
  refusedBodyDrainBytesMax: 128 * 1024 * 1024,
  streamStallMsMax: 120_000,
  streamStallCheckMs: 3_000,
  /** Concurrent zstd compressors; further answers get another encoding. */
  zstdCompressorsMax: 64,
  sessionTokenCharactersMax: 4096,
  engineRetryAfterSeconds: 2,
} as const;
