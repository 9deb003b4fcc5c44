/** The code of an error of the system, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** What an error says, whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What is asked of a file or a directory; undefined where there is none. */
export async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
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

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'this user may not read or write there',
  EPERM: 'this user may not read or write there',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  EROFS: 'the file system there is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EFBIG: 'a file may not become so large there',
  EIO: 'the disk has failed',
};

/** A failure of the file system in words for the operator, file and reason; undefined for anything else. */
export function fileErrorWords(error: unknown): string | undefined {
  const reason = reasons[errorCode(error) ?? ''];
  const path: unknown = error instanceof Error && 'path' in error ? error.path : undefined;
  return reason === undefined || typeof path !== 'string' ? undefined : `${path}: ${reason}`;
}

/** Does what is done to an open file: the system does not name it in its errors, which therefore get `path` here. */
export async function namingFile<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (errorCode(error) !== undefined) Object.assign(error as Error, { path });
    throw error;
  }
}
