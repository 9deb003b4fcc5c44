/** Bounds of requests, answers and connections; units last. */
export const limits = {
  scimPageMax: 200,
  headersBytesMax: 16 * 1024,
  /** How long clients are told that an idle connection stays. The library closes it after 8 to 12 s. */
  keepAliveHintSeconds: 7,
  /** What is received of a body before its request is let in. */
  unreadBodyBytesMax: 64 * 1024,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,
  /** A body that is one small JSON object, such as a login or a setting. */
  jsonBodyBytesMax: 64 * 1024,
  /** In this time a body must bring `bodyBytesPerSecondMin`, or its end. The library closes the connection after 8 to 12 s. */
  bodySlowMsMax: 7_000,
  bodyBytesPerSecondMin: 16 * 1024,
  /** A body that nobody wants is thrown away up to this size; a larger one ends the connection. */
  ignoredBodyBytesMax: 64 * 1024,
  /** After an early refusal the rest of the body is thrown away up to this size and time, so that its sender sees the answer. */
  refusedBodyDrainBytesMax: 128 * 1024 * 1024,
  /** A reader of a stream may stand still this long before it is dropped. */
  streamStallMsMax: 120_000,
  streamStallCheckMs: 3_000,
  /** Answers that are compressed to zstd at the same time; others get another encoding. */
  zstdCompressorsMax: 64,
  sessionTokenCharactersMax: 4096,
  engineRetryAfterSeconds: 2,
} as const;
