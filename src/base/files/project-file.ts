import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The path of a file of the project for a message: from the working directory if the file is below it, else absolute.
 * `path` begins at the project's root, which is an installed package for most users. An image has no documents, so there
 * the path stays as given.
 */
export function projectFile(path: string): string {
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  if (!existsSync(file)) return path;
  const fromHere = relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
