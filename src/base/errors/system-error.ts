/** Such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Undefined if the file or directory is missing. */
export async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export function isDiskFull(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

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

/** For the operator, with file and reason; undefined if not a file system error. */
export function fileErrorWords(error: unknown): string | undefined {
  const reason = reasons[errorCode(error) ?? ''];
  const path: unknown = error instanceof Error && 'path' in error ? error.path : undefined;
  return reason === undefined || typeof path !== 'string' ? undefined : `${path}: ${reason}`;
}

/** Adds `path` to errors of an open file, which do not contain it. */
export async function namingFile<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (errorCode(error) !== undefined) Object.assign(error as Error, { path });
    throw error;
  }
}
