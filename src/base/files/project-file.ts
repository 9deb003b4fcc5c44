import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Relative to the working directory if below it, otherwise absolute. An image has no documents, so there
 * `path` stays.
 */
export function projectFile(path: string): string {
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  if (!existsSync(file)) return path;
  const fromHere = relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
