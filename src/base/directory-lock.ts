import { randomBytes } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
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

/**
 * Makes sure that one process at a time writes below `directory`, which must exist. The lock is a listening local
 * socket in it: the system ends it with the process, however that dies, and no process id has to be guessed at.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  // A socket's path may have about 100 characters; by way of the open directory it is always short.
  const handle = await open(directory, 'r');
  const path =
    process.platform === 'linux' ? `/proc/self/fd/${handle.fd}/lock.socket` : join(directory, 'lock.socket');
  const token = randomBytes(16).toString('hex');
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      if ((await ask(path)) !== undefined) break;
      await removeDead(path);
      const server = await listen(path, token);
      if (server === undefined) continue;
      await sleep(settleMs);
      if ((await ask(path)) === token) return { release: () => release(server, handle) };
      server.close();
      break;
    }
    throw new DirectoryInUseError(directory);
  } catch (error) {
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

async function removeDead(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/** Undefined when another process was quicker. */
function listen(path: string, token: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(token);
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ path, readableAll: false }, () => {
      server.unref();
      resolve(server);
    });
  });
}
