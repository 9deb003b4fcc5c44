export const limits = {
  /** Events that are read and written at once, and their bytes. */
  eraseEventsAtOnce: 500,
  eraseBytesAtOnce: 8 * 1024 * 1024,
  eraseTermCharactersMax: 320,
  eraseTermCharactersMin: 2,
} as const;
