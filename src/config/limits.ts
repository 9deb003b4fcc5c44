/** Bounds of the configuration; units last. */
export const limits = {
  /** A merge of a few hundred thousand events opens some 300 files, and each connection is one. */
  openFilesMin: 1024,
} as const;
