import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from '../base/errors/system-error.ts';

const name = /^mutation_\d+\.txt$/;
// No dot, which ends at separators such as U+2028: texts of events stand in commands.
const whole = /^format version: 1\ncreate time: [^\n]+\ncommands: [^\n]+\n/;

/**
 * Removes from the directory of an engine that does not run the mutations (ALTER UPDATE, ALTER DELETE) whose file is cut
 * short, and gives their paths. The embedded engine does not notice that a full disk takes such a file away, and carries
 * the mutation out; but with that file it would never start again. Whoever asked for one that was not carried out has had
 * no answer, and asks again.
 */
export async function removeCutMutations(engineDir: string): Promise<string[]> {
  const removed: string[] = [];
  for (const folder of await tableFolders(join(engineDir, 'store'))) {
    for (const file of (await readdir(folder)).filter((one) => name.test(one))) {
      const path = join(folder, file);
      if (whole.test(await readFile(path, 'utf8'))) continue;
      await rm(path);
      removed.push(path);
    }
  }
  return removed;
}

/** The folder of each table, as the engine lays them out: `store/abc/abc…`. Files of others may lie beside them. */
async function tableFolders(store: string): Promise<string[]> {
  const prefixes = (await ifThere(foldersIn(store))) ?? [];
  return (await Promise.all(prefixes.map(foldersIn))).flat();
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name: folder }) => join(directory, folder));
}
