import { readFileSync } from 'node:fs';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { until } from '../waiting.ts';
import type { World } from '../world.ts';
import { filesIn } from './bounds.ts';

/** Files may disappear meanwhile. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** No file has an erased person once replaced parts are removed; compressed content cannot be searched. */
export async function checkErasedFiles(world: World): Promise<void> {
  const due = world.erased.filter(({ fromMs }) => Date.now() > fromMs + limits.erasedFilesMs);
  if (due.length === 0) return;
  const seconds = limits.erasedFilesMs / 1000;
  let parts = '';
  await until(
    'replaced parts go',
    () => parts,
    async () => {
      parts = await world.service.ask(
        `SELECT name, remove_time FROM system.parts WHERE database = 'audit' AND table IN ('events', 'erasure_rows') AND NOT active AND remove_time < now() - ${seconds}`,
      );
      return parts === '' || undefined;
    },
    // A restarted engine finds its old parts first.
    limits.cleaningMs,
  );
  for (const path of filesIn(world.service.dataDir)) {
    const content = contentOf(path);
    const found = due.find(({ text }) => content.includes(text));
    hold(found === undefined, 'who was erased is in no file', () => `${found?.text} in ${path}`);
  }
}
