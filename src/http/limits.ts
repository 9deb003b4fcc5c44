/** Bounds of requests, answers and connections; units last. */
export const limits = {
  /** Headers of reads: names of parameters that had no effect, each and all; and links. Node's clients take 16 KiB of all. */
  ignoredNameBytesMax: 100,
  ignoredNamesBytesMax: 1_000,
  linksBytesMax: 6_000,
  compressBytesMin: 1024,
  scimPageDefault: 100,
  scimPageMax: 200,
  topValuesDefault: 10,
  topValuesMax: 100,
  headersBytesMax: 16 * 1024,
  /** How long clients are told that an idle connection stays. The library closes it after 8 to 12 s. */
  keepAliveHintSeconds: 7,
  /** How long browsers are told to come over TLS only. */
  strictTransportSeconds: 365 * 24 * 3600,
  /** Files of the page whose names change with what is in them. */
  pageFileKeptSeconds: 365 * 24 * 3600,
  /** How often the files of the certificate are read again. */
  certificateLookMs: 2_000,
  requestIdCharactersMax: 128,
  idempotencyKeyCharactersMax: 255,
  /** Rejected log records that the answer to an export of OTLP names. */
  otlpErrorsNamedMax: 10,
  /** Of one body while nobody has asked for it. */
  unreadBodyBytesMax: 64 * 1024,
  /** Of the room for bodies (`bodiesInFlightBytesMax`), kept for those of at most `unreadBodyBytesMax`. */
  bodiesInFlightSmallShare: 1 / 8,
  accessLogBufferedBytesMax: 16 * 1024 * 1024,
  accessLogFlushMs: 100,
  accessLogCloseMsMax: 2_000,
  requestsInFlightMax: 20_000,
  /**
   * Of the descriptors of a process, what is not for connections of clients: the log, reads and statements under way at the
   * engine (storage: 64; read: 48 streams, and 8 or more in turns), threads. Half of the descriptors where there are few.
   */
  reservedDescriptors: 384,
  refusedConnectionsLogMs: 60_000,
  addressCountsMs: 1_000,
  /** A request body that is one small JSON object, such as a login or a setting. */
  jsonBodyBytesMax: 64 * 1024,
  /** A request body nobody wants is swallowed up to this size; a larger one costs its sender the connection. */
  ignoredBodyBytesMax: 64 * 1024,
  /** First allocation for a body; what a sender announces beyond it is allocated once it has sent this much. */
  bodyFirstAllocationBytes: 1024 * 1024,
  pooledBodyBytesMin: 32 * 1024,
  /** After an early refusal the rest of the body is thrown away this long and this far, so that the answer is seen. */
  refusedBodyDrainBytesMax: 128 * 1024 * 1024,
  refusedBodyDrainMsMax: 10_000,
  /** A sender that pauses so long waits for the answer's end; a busy one that is cut off meanwhile would not see it. */
  refusedBodyQuietMs: 300,
  /** A reader of a stream may stand still this long before it is dropped. */
  streamStallMsMax: 120_000,
  streamStallCheckMs: 3_000,
  /** Held for all readers that stand still; above it, the one that has done so longest is dropped. */
  unsentBytesMax: 256 * 1024 * 1024,
  /** Compressed to zstd at once; WebAssembly runs on the event loop, so a larger body goes in pieces. */
  zstdAtOnceBytesMax: 128 * 1024,
  /** Beyond this clients get another encoding. */
  zstdCompressorsMax: 64,
  rateLimitClientsMax: 200_000,
  sessionTokenCharactersMax: 4096,
  /** Accounts of an address that a password is held against where no organization is named, oldest first; each costs a check, also where there is none. */
  loginOrganizationsMax: 4,
  /** Cookies of the service's name that are looked at in one request. */
  sessionCookiesMax: 8,
  /** Events of the service itself that happened and could not be recorded yet. */
  selfAuditHeldEventsMax: 1_000,
  selfAuditRetryMs: 1_000,
  engineRetryAfterSeconds: 2,
  shutdownRequestsMsMax: 10_000,
} as const;
