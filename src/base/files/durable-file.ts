import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, ifThere, namingFile } from '../errors/system-error.ts';

/** Created, renamed and removed names then survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Mode 0700. Node's `recursive` hangs in file systems such as /proc. */
export async function makeDirectories(path: string): Promise<void> {
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) return;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    try {
      return await mkdir(path, { mode: 0o700 });
    } catch (failure) {
      // Another process created it first.
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

/** Replaces a file (mode 0600) atomically. Concurrent processes need different `temporary` names. */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  temporary = `${path}.tmp`,
): Promise<void> {
  // A killed process may have left one with another mode.
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

/** Creates it (mode 0600) if missing. Concurrent processes get the same content. */
export async function readOrCreateFile(path: string, content: string): Promise<string> {
  const existing = await readIfThere(path);
  if (existing !== undefined) return existing;
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    await writeNew(draft, content);
    // A link never replaces: one process publishes its complete file, and the others read that.
    await link(draft, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** Undefined if missing. */
export function readIfThere(path: string): Promise<string | undefined> {
  return ifThere(namingFile(path, () => readFile(path, 'utf8')));
}

/** Empty if the directory is missing. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await ifThere(readdir(directory))) ?? [];
}

/** The same file, not a copy. Rejects if one is missing. */
export async function isSameFile(a: string, b: string): Promise<boolean> {
  const one = await stat(a, { bigint: true });
  const other = await stat(b, { bigint: true });
  return one.ino === other.ino && one.dev === other.dev;
}
