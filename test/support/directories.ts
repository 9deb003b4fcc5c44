import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new directory under the system's temporary one; the caller removes it with `removeDirectory`. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'auditlog-test-'));
}

const removed: string[] = [];

/**
 * Takes a directory away at once, and removes what was in it when this process ends. An engine leaves thousands of files,
 * and ext4 searches long for the inode of a new one where many were freed in the last five seconds: to free them while
 * other tests run costs these a tenth of the processor.
 */
export async function removeDirectory(path: string): Promise<void> {
  if (!existsSync(path)) return;
  if (removed.length === 0) process.once('exit', removeAll);
  const aside = `${path}.removed-${removed.length}`;
  removed.push(aside);
  await rename(path, aside);
}

function removeAll(): void {
  for (const path of removed) rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
