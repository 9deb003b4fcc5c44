import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';

/** Processes and directories that must not outlive the bench, however it ends. */
const children = new Set<ChildProcess>();
const directories = new Set<string>();

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const directory of directories)
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    process.stderr.write(`ended by ${signal}\n`);
    process.exit(130);
  });

/** Ends the process with the bench at the latest. */
export function ownProcess<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Removes the directory at the latest when the bench ends; `rmSync` large ones earlier. */
export function ownDirectory(path: string): string {
  directories.add(path);
  return path;
}
