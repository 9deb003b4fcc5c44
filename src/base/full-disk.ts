/** What the system says where there is no room left on a disk, or in a quota. */
const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Whether a write failed for want of room: reads go on then, and the write may be tried again later. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && codes.has(error.code);
}

/** One line for the operator about what cannot be done without room. */
export function fullDiskWords(directory: string): string {
  return `the disk of DATA_DIR ${directory} is full: free some space on it`;
}
