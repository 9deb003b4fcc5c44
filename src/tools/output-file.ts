import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../base/errors/system-error.ts';

/** Throws, with file and reason, where one cannot be written; so work that ends there is not begun. */
export async function checkOutputFile(path: string, kind: 'file' | 'directory' = 'file'): Promise<void> {
  const directory = dirname(path);
  if (!(await isDirectory(directory)))
    throw new Error(`cannot write ${path}: there is no directory ${directory}`);
  if (kind === 'file' && (await isDirectory(path)))
    throw new Error(`cannot write ${path}: it is a directory`);
  try {
    await access(directory, constants.W_OK);
  } catch (error) {
    throw new Error(`cannot write ${path}: this user may not write in ${directory}`, { cause: error });
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}
