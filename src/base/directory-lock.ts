import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Another live process has the directory. */
class DirectoryInUseError extends Error {
  constructor(directory: string) {
    super(`another process uses DATA_DIR ${directory}`);
    this.name = 'DirectoryInUseError';
  }
}

export interface DirectoryLock {
  release(): Promise<void>;
}

/** Longer than another process needs between seeing a dead socket and replacing it. */
const settleMs = 50;

const lockName = 'lock.socket';

/** A socket's path may have about 100 characters; by way of the open directory it is always short. */
function placeOf(handle: FileHandle, directory: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : directory;
}

/**
 * Whether a process holds the lock of this very directory. A copy of the directory has the socket's file, but nobody
 * listens there. Rejects where there is no directory.
 */
export async function isDirectoryLocked(directory: string): Promise<boolean> {
  const handle = await open(directory, 'r');
  try {
    return (await ask(join(placeOf(handle, directory), lockName))) !== undefined;
  } finally {
    await handle.close();
  }
}

/**
 * Makes sure that one process at a time writes below `directory`, which must exist. The lock is a listening local
 * socket in it: the system ends it with the process, however that dies, and no process id has to be guessed at.
 *
 * A socket listens under a name of its own and is then renamed to the lock's: closing it removes its first name only,
 * so a process that loses never takes the winner's lock away. Of several that replace a dead one at the same moment
 * the last is left, and each finds out which that is by asking.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const handle = await open(directory, 'r');
  const place = placeOf(handle, directory);
  const path = join(place, lockName);
  const token = randomBytes(16).toString('hex');
  let server: Server | undefined;
  try {
    if ((await ask(path)) !== undefined) throw new DirectoryInUseError(directory);
    server = await listen(join(place, `lock.${token.slice(0, 8)}`), token);
    await rename(join(place, `lock.${token.slice(0, 8)}`), path);
    await sleep(settleMs);
    if ((await ask(path)) !== token) throw new DirectoryInUseError(directory);
    const held = server;
    return { release: () => release(held, handle) };
  } catch (error) {
    server?.close();
    await handle.close();
    throw error;
  }
}

async function release(server: Server, handle: { close(): Promise<void> }): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await handle.close();
}

/** What the process that listens at the path says, or undefined when none does. */
function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    socket.setTimeout(1000, () => {
      // Alive but busy: it holds the lock all the same.
      socket.destroy();
      resolve(text);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    socket.on('error', () => resolve(undefined));
  });
}

function listen(path: string, token: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(token);
    });
    server.once('error', reject);
    server.listen({ path, readableAll: false }, () => {
      server.unref();
      resolve(server);
    });
  });
}
