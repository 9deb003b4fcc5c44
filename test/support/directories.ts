import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The caller removes it with `removeDirectory`. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'auditlog-test-'));
}

const removed: string[] = [];

/**
 * Hides a directory at once, and removes it when this process ends: an engine leaves thousands of files, and
 * freeing their inodes during other tests costs these a tenth of the processor (ext4).
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
