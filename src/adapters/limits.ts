export const limits = {
  /** Events that a record becomes; the last of them keeps what is left of its list. */
  eventsOfRecordMax: 100,
  /** Each event repeats what the record's events share. All repeats of a record stay below this: it becomes fewer events. */
  sharedBytesMax: 64 * 1024,
} as const;
