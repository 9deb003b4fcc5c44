import { stat } from 'node:fs/promises';

/** Whether two paths lead to the same file or directory, and not to one and its copy. Rejects where one is missing. */
export async function isSameFile(a: string, b: string): Promise<boolean> {
  const one = await stat(a, { bigint: true });
  const other = await stat(b, { bigint: true });
  return one.ino === other.ino && one.dev === other.dev;
}
