/** The code of an error of the system, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Whether a write failed for want of room: reads go on then, and the write may be tried again later. */
export function isDiskFull(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** One line for the operator about what cannot be done without room. */
export function fullDiskWords(directory: string): string {
  return `the disk of DATA_DIR ${directory} is full: free some space on it`;
}
