/** Bounds of erasing a person; units last. */
export const limits = {
  /** Names of the application in events that were recorded under another configuration; each has a mapper or two. */
  eraseAppNamesMax: 32,
  /** Events of one erasure. */
  eraseEventsMax: 100_000,
  /** Events that are looked through at once. */
  eraseCandidatesAtOnce: 200_000,
  /** Events that are read and written at once, and their bytes. */
  eraseEventsAtOnce: 500,
  eraseBytesAtOnce: 8 * 1024 * 1024,
  eraseScanMsMax: 3_600_000,
  /** Times that what is left is planned anew. */
  eraseAgainMax: 3,
  eraseTermsMax: 100,
  eraseTermCharactersMax: 320,
  eraseTermCharactersMin: 2,
  /** How long the command waits for the server; this goes on by itself. */
  eraseWaitMsMax: 600_000,
  erasePollMs: 200,
} as const;
