import { join } from 'node:path';
import { namesIn } from '../base/files/durable-file.ts';

/** The directory of the front end `number`, where a server has several (contract: Configuration). */
export function processDirectory(dataDir: string, number: number): string {
  return join(dataDir, `process-${number}`);
}

/**
 * Every directory that may hold a write-ahead log: DATA_DIR itself, which is that of a server of one process, and those
 * of front ends, also of such as there were once.
 */
export async function logDirectories(dataDir: string): Promise<string[]> {
  const names = await namesIn(dataDir);
  const numbers = names.flatMap((name) => /^process-([1-9]\d?)$/.exec(name)?.[1] ?? []);
  return [dataDir, ...numbers.map((number) => processDirectory(dataDir, Number(number)))];
}

/** Those of them that hold something of a log and are not in use. */
export async function leftDirectories(dataDir: string, used: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const directory of await logDirectories(dataDir)) {
    if (used.includes(directory)) continue;
    const kept = await Promise.all(['wal', 'idempotency'].map((name) => namesIn(join(directory, name))));
    // The name that it has in the engine goes last.
    const isNamed = (await namesIn(directory)).includes('instance-id');
    if (isNamed || kept.flat().length > 0) left.push(directory);
  }
  return left;
}
