export const limits = {
  /** Files in MAPPINGS_DIR: each worker compiles the ones in use. */
  ownMappingsMax: 64,
} as const;
