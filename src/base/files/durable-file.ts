import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, ifThere, namingFile } from '../errors/system-error.ts';

/** Makes names that were created, renamed or removed in a directory survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a directory and those above it (mode 0700). Node's `recursive` hangs in file systems such as /proc. */
export async function makeDirectories(path: string): Promise<void> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    try {
      return await mkdir(path, { mode: 0o700 });
    } catch (failure) {
      // Another process was faster.
      if (errorCode(failure) !== 'EEXIST') throw failure;
      return;
    }
  }
  throw Object.assign(new Error(`${path} is not a directory`), { code: 'ENOTDIR', path });
}

async function writeNew(path: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await namingFile(path, async () => {
      await handle.writeFile(content);
      await handle.sync();
    });
  } finally {
    await handle.close();
  }
}

/** Replaces a file (mode 0600) atomically. Processes that do so at once need different names for `temporary`. */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  temporary = `${path}.tmp`,
): Promise<void> {
  // One that a killed process left may have another mode.
  await rm(temporary, { force: true });
  try {
    await writeNew(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * The content of a file (mode 0600); makes it of `content` if it is missing. Processes that do so at once get the
 * same content.
 */
export async function readOrCreateFile(path: string, content: string): Promise<string> {
  const existing = await readIfThere(path);
  if (existing !== undefined) return existing;
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    await writeNew(draft, content);
    // A link never replaces: of several processes, one places its complete file and the others read that.
    await link(draft, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** The text of a file; undefined where there is none. */
export function readIfThere(path: string): Promise<string | undefined> {
  return ifThere(namingFile(path, () => readFile(path, 'utf8')));
}

/** The names in a directory; none where it is not there. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await ifThere(readdir(directory))) ?? [];
}

/** Whether two paths lead to the same file, not to a copy. Rejects if one is missing. */
export async function isSameFile(a: string, b: string): Promise<boolean> {
  const one = await stat(a, { bigint: true });
  const other = await stat(b, { bigint: true });
  return one.ino === other.ino && one.dev === other.dev;
}
