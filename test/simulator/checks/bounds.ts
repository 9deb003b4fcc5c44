import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { World } from '../world.ts';

/** All files below a changing folder; the engine's links point to folders that are listed, too. */
export function filesIn(folder: string): string[] {
  let names: readonly Dirent[];
  try {
    names = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  return names.flatMap((one) => {
    const path = join(folder, one.name);
    if (one.isDirectory()) return filesIn(path);
    return one.isFile() ? [path] : [];
  });
}

/** Memory, files and handles of a service at rest are bounded. */
export async function checkBounds(world: World): Promise<string> {
  const { pid, dataDir } = await world.service.up();
  const open = readdirSync(`/proc/${pid}/fd`).length;
  hold(open < limits.openFilesMax, 'handles stay bounded', () => `${open} open files`);
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  const bytes = pages * 4096;
  hold(bytes < limits.residentBytesMax, 'memory stays bounded', () => `${bytes} bytes`);
  const files = filesIn(dataDir).length;
  hold(files < limits.dataFilesMax, 'files stay bounded', () => `${files} files in the data directory`);
  return `${files} files, ${open} handles, ${Math.round(bytes / 1024 ** 2)} MiB`;
}
