export const limits = {
  /** Events that a record becomes; the last of them keeps what is left of its list. */
  eventsOfRecordMax: 100,
  /** What a record's events share is written so often that it stays below this in all, each further event the same. */
  sharedBytesMax: 64 * 1024,
} as const;
