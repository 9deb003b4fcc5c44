import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes names that were created, renamed or removed in a directory survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Puts a file in another's place whole: at any moment one of the two is there, never a part. Until then its name is
 * `temporary`; of two processes that may do this at once each needs one of its own.
 */
export async function replaceFile(path: string, content: string, temporary = `${path}.tmp`): Promise<void> {
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
