import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { World } from '../world.ts';

/** Files of a folder in which others come and go meanwhile. */
function filesIn(folder: string): number {
  let names: readonly Dirent[];
  try {
    names = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
  return names.reduce((sum, one) => sum + (one.isDirectory() ? filesIn(join(folder, one.name)) : 1), 0);
}

/** Memory, files and handles of a service at rest stay bounded, whatever it has been through. */
export async function checkBounds(world: World): Promise<void> {
  const { pid, dataDir } = await world.service.up();
  const open = readdirSync(`/proc/${pid}/fd`).length;
  hold(open < limits.openFilesMax, 'handles stay bounded', () => `${open} open files`);
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  hold(pages * 4096 < limits.residentBytesMax, 'memory stays bounded', () => `${pages * 4096} bytes`);
  const files = filesIn(dataDir);
  hold(files < limits.dataFilesMax, 'files stay bounded', () => `${files} files in the data directory`);
}
