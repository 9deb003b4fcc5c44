/** Bounds of erasing a person; units last. */
export const limits = {
  /** Names of the application in events that were recorded under another configuration; each has a mapper or two. */
  eraseAppNamesMax: 32,
  /** Erasing: events of one erasure; how many are looked for, read and written at once. */
  eraseEventsMax: 100_000,
  eraseCandidatesAtOnce: 200_000,
  eraseEventsAtOnce: 500,
  eraseBytesAtOnce: 8 * 1024 * 1024,
  eraseScanMsMax: 3_600_000,
  /** How often what is left is planned anew. */
  eraseAgainMax: 3,
  eraseTermsMax: 100,
  eraseTermCharactersMax: 320,
  eraseTermCharactersMin: 2,
  /** How long the command waits for the server; this goes on by itself. */
  eraseWaitMsMax: 600_000,
  erasePollMs: 200,
} as const;
