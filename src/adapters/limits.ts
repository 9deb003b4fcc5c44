export const limits = {
  /** Files in MAPPINGS_DIR: each worker compiles those that are used. */
  ownMappingsMax: 64,
} as const;
