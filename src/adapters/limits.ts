export const limits = {
  /** Events that a record becomes; the last of them keeps what is left of its list. */
  eventsOfRecordMax: 100,
  /** Each event repeats what the record's events share. All repeats of a record stay below this: it becomes fewer events. */
  sharedBytesMax: 64 * 1024,
  /** Files in MAPPINGS_DIR: each worker compiles those that are used. */
  ownMappingsMax: 64,
  mappingBytesMax: 64 * 1024,
  /** Characters of an outcome that is shown in `status_detail`. */
  outcomeCharactersMax: 100,
} as const;
