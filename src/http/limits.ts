/** Bounds of requests, answers and connections; units last. */
export const limits = {
  /** A name in the header `Ignored-Parameters`. */
  ignoredNameBytesMax: 100,
  /** All names in it. */
  ignoredNamesBytesMax: 1_000,
  /** The header `Link`. Node's clients take 16 KiB of headers in all. */
  linksBytesMax: 6_000,
  compressBytesMin: 1024,
  scimPageDefault: 100,
  scimPageMax: 200,
  topValuesDefault: 10,
  topValuesMax: 100,
  headersBytesMax: 16 * 1024,
  /** How long clients are told that an idle connection stays. The library closes it after 8 to 12 s. */
  keepAliveHintSeconds: 7,
  /** How long browsers are told to use TLS only. */
  strictTransportSeconds: 365 * 24 * 3600,
  /** How long browsers keep files of the page whose names change with what is in them. */
  pageFileKeptSeconds: 365 * 24 * 3600,
  /** Time between looks at the files of the certificate. */
  certificateLookMs: 2_000,
  requestIdCharactersMax: 128,
  idempotencyKeyCharactersMax: 255,
  /** Rejected log records that the answer to an export of OTLP names. */
  otlpErrorsNamedMax: 10,
  /** What is received of a body before its request is let in. */
  unreadBodyBytesMax: 64 * 1024,
  /** The share of `bodiesInFlightBytesMax` that is kept for bodies of at most `unreadBodyBytesMax`. */
  bodiesInFlightSmallShare: 1 / 8,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,
  accessLogFlushMs: 100,
  accessLogCloseMsMax: 2_000,
  requestsInFlightMax: 20_000,
  /**
   * Descriptors of a process that are not for clients' connections: the log, threads, and what is under way at the engine (64
   * statements, 48 streams, 8 reads or more). Where there are few descriptors, half of them.
   */
  reservedDescriptors: 384,
  refusedConnectionsLogMs: 60_000,
  addressCountsMs: 1_000,
  /** A body that is one small JSON object, such as a login or a setting. */
  jsonBodyBytesMax: 64 * 1024,
  /** In this time a body must bring `bodyBytesPerSecondMin`, or its end. The library closes the connection after 8 to 12 s. */
  bodySlowMsMax: 7_000,
  bodyBytesPerSecondMin: 16 * 1024,
  /** A body that nobody wants is thrown away up to this size; a larger one ends the connection. */
  ignoredBodyBytesMax: 64 * 1024,
  /** Memory for a body at first. What its sender announces beyond that is allocated once this much has come. */
  bodyFirstAllocationBytes: 1024 * 1024,
  pooledBodyBytesMin: 32 * 1024,
  /** After an early refusal the rest of the body is thrown away up to this size and time, so that its sender sees the answer. */
  refusedBodyDrainBytesMax: 128 * 1024 * 1024,
  refusedBodyDrainMsMax: 10_000,
  /** A refused sender that pauses this long has read the answer; one that is cut off while it sends would not see it. */
  refusedBodyQuietMs: 300,
  /** Time between looks whether the client of a read has left; one that has only stopped sending is answered within it. */
  clientLookMs: 1_000,
  /** A reader of a stream may stand still this long before it is dropped. */
  streamStallMsMax: 120_000,
  streamStallCheckMs: 3_000,
  /** What is held for all readers that stand still; above it the one that has stood still longest is dropped. */
  unsentBytesMax: 256 * 1024 * 1024,
  /** An answer that is compressed to zstd in one piece. That runs on the event loop, so a larger one goes in pieces. */
  zstdAtOnceBytesMax: 128 * 1024,
  /** Answers that are compressed to zstd at the same time; others get another encoding. */
  zstdCompressorsMax: 64,
  rateLimitClientsMax: 200_000,
  /** The credential of a request that has been held for longer is looked at once more. */
  credentialHeldMsMax: 500,
  sessionTokenCharactersMax: 4096,
  /** Accounts of an address that a login without an organization tries, oldest first. With fewer accounts it makes as many checks. */
  loginOrganizationsMax: 4,
  /** Cookies of the service's name that are looked at in one request. */
  sessionCookiesMax: 8,
  /** Events of the service itself that happened and could not be recorded yet. */
  selfAuditHeldEventsMax: 1_000,
  selfAuditRetryMs: 1_000,
  engineRetryAfterSeconds: 2,
  shutdownRequestsMsMax: 10_000,
} as const;
