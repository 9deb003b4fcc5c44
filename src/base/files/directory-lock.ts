import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../errors/system-error.ts';

/** Another live process has the directory. */
export class DirectoryInUseError extends Error {
  /** Undefined where the process is too busy to answer. */
  readonly holder: LockHolder | undefined;

  constructor(directory: string, holder: LockHolder | undefined) {
    super(`another process uses DATA_DIR ${directory}${holder === undefined ? '' : wordsOf(holder)}`);
    this.name = 'DirectoryInUseError';
    this.holder = holder;
  }
}

/** Which process it is, and what to do about it. */
function wordsOf({ kind, pid, isHere }: LockHolder): string {
  if (!isHere) return `: a ${kind} in another container (process ${pid} there); stop that container first`;
  if (kind === 'command') return `: process ${pid}, a command; wait for its end`;
  return `: process ${pid}, a server; end it with "auditlog stop", or name another directory`;
}

export interface DirectoryLock {
  release(): Promise<void>;
}

type State = 'trying' | 'held';

/** What has a directory: a server as long as it runs, or a command for the time that it takes. */
export type HolderKind = 'server' | 'command';

/** The process that holds a lock, by its own word. */
export interface LockHolder {
  readonly kind: HolderKind;
  readonly pid: number;
  /** Whether processes here have the same ids: in another container `pid` is another process, or none. */
  readonly isHere: boolean;
}

const namePrefix = 'lock.';
/** What is taken for the answer of a process that gives none in time. */
const busy = 'busy';

/** How long a process that tries is waited for; it needs milliseconds. */
const tryingMsMax = 10_000;
const askMsMax = 1_000;
const askAgainMs = 5;

/** A socket's path may have about 100 characters; by way of the open directory it is always short. */
function pathOf(handle: FileHandle, directory: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : directory;
}

/**
 * Whether a process holds the lock of this very directory, or is about to. A copy of the directory has the socket's
 * file, but nobody listens there. Rejects where there is no directory.
 */
export async function isDirectoryLocked(directory: string): Promise<boolean> {
  return (await statesOf(directory)).length > 0;
}

/** Who holds the lock of this very directory; undefined where nobody does, or it is too busy to tell. */
export async function lockHolder(directory: string): Promise<LockHolder | undefined> {
  const held = (await statesOf(directory)).filter((state) => state.startsWith('held '));
  return held[0] === undefined ? undefined : holderIn(held[0]);
}

/** The process that a state names. */
function holderIn(text: string): LockHolder | undefined {
  const [, kind, pid, namespace = ''] = /^(?:held|trying) (server|command) (\d+) (.*)$/.exec(text) ?? [];
  if (kind !== 'server' && kind !== 'command') return undefined;
  return { kind, pid: Number(pid), isHere: namespace === processNamespace() };
}

/** Whether a server has this very directory; true also where what has it is too busy to tell. */
export async function isServed(directory: string): Promise<boolean> {
  return (await statesOf(directory)).some((state) => state === busy || state.startsWith('held server '));
}

/** What those say that listen in the directory. */
async function statesOf(directory: string): Promise<string[]> {
  const handle = await open(directory, 'r');
  try {
    const path = pathOf(handle, directory);
    const names = (await readdir(path)).filter((name) => name.startsWith(namePrefix));
    const states = await Promise.all(names.map((name) => ask(join(path, name))));
    return states.filter((state) => state !== undefined);
  } finally {
    await handle.close();
  }
}

/** In which the ids of processes count; '' where the system has no such thing. */
function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return '';
  }
}

/**
 * Makes sure that one process at a time writes below `directory`, which must exist. The lock is a listening local
 * socket in it, `lock.<random name>`: the system ends it with the process, however that dies, and no process id has to
 * be guessed at. No name is used twice, so the socket of a dead process can be removed by anybody at any time.
 *
 * Each of several that try at the same moment listens first and looks at the others afterwards. Who sees a lower name
 * that tries gives up; who sees a higher one waits until that has given up or got the lock. So two cannot miss each
 * other, and one of them always gets it.
 */
export async function lockDirectory(directory: string, kind: HolderKind = 'command'): Promise<DirectoryLock> {
  const handle = await open(directory, 'r');
  const path = pathOf(handle, directory);
  const name = `${namePrefix}${randomBytes(16).toString('hex')}`;
  let state: State = 'trying';
  let server: Server | undefined;
  try {
    const self = `${kind} ${process.pid} ${processNamespace()}`;
    server = await listen(join(path, name), () => `${state} ${self}`);
    for (const other of await readdir(path)) {
      if (!other.startsWith(namePrefix) || other === name) continue;
      const holder = await holderBefore(path, other, name);
      if (holder !== undefined) throw new DirectoryInUseError(directory, holderIn(holder));
    }
    state = 'held';
    const listening = server;
    return { release: () => release(listening, handle) };
  } catch (error) {
    if (server === undefined) await handle.close();
    else await release(server, handle);
    throw error;
  }
}

/**
 * The state of the process behind the socket `other` where it has the lock, or gets it; undefined where it lets the one
 * named `own` have it, or is dead.
 */
async function holderBefore(path: string, other: string, own: string): Promise<string | undefined> {
  const deadline = performance.now() + tryingMsMax;
  for (let refused = 0; ; ) {
    const state = await ask(join(path, other));
    if (state === undefined) refused += 1;
    // A socket has its name a moment before it listens: one refusal does not tell that its process is dead.
    if (refused > 1) {
      await removeDead(join(path, other));
      return undefined;
    }
    const isTrying = state?.startsWith('trying ') === true;
    if (state !== undefined && (!isTrying || other < own)) return state;
    if (performance.now() > deadline) return state ?? busy;
    await sleep(askAgainMs);
  }
}

/** Its process may have removed it itself, or another one. */
const removeDead = (path: string): Promise<void> => rm(path, { force: true });

async function release(server: Server, handle: FileHandle): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await handle.close();
}

/** The state that the process at the path tells, or undefined when none listens. */
function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    socket.setTimeout(askMsMax, () => {
      // Alive but busy: it counts as the one that holds the lock.
      socket.destroy();
      resolve(busy);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    // As many as it may have wait for an answer already: it is alive.
    socket.on('error', (error) => resolve(errorCode(error) === 'EAGAIN' ? busy : undefined));
  });
}

function listen(path: string, state: () => string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      // A process that asks need not hang up, and the release of a lock waits for all of them.
      socket.end(state(), () => socket.destroy());
    });
    server.once('error', reject);
    server.listen({ path, readableAll: false }, () => {
      server.unref();
      resolve(server);
    });
  });
}
