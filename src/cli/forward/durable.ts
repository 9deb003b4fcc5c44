import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AuditlogError } from '../../client/client.ts';

/** Makes names that were created, renamed or removed in a directory survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Puts a file in another's place whole: at any moment one of the two is there, never a part. */
export async function replaceFile(path: string, content: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

const passing = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EAGAIN', 'EMFILE', 'ENFILE', 'ETIMEDOUT', 'ESTALE']);

/** A disk that is full or fails now may take it later: such an error is one that is retried. */
export async function orTransient<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (!passing.has(code)) throw error;
    throw new AuditlogError('network', `writing failed: ${code}`, { cause: error });
  }
}
