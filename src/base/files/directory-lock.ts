import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../errors/system-error.ts';

export class DirectoryInUseError extends Error {
  /** Undefined if the process is too busy to answer. */
  readonly holder: LockHolder | undefined;

  constructor(directory: string, holder: LockHolder | undefined) {
    super(`another process uses DATA_DIR ${directory}${holder === undefined ? '' : describeHolder(holder)}`);
    this.name = 'DirectoryInUseError';
    this.holder = holder;
  }
}

function describeHolder({ kind, pid, isHere }: LockHolder): string {
  if (!isHere) return `: a ${kind} in another container (process ${pid} there); stop that container first`;
  if (kind === 'command') return `: process ${pid}, a command; wait for its end`;
  return `: process ${pid}, a server; end it with "auditlog stop", or name another directory`;
}

export interface DirectoryLock {
  release(): Promise<void>;
}

type State = 'trying' | 'held';

export type HolderKind = 'server' | 'command';

export interface LockHolder {
  readonly kind: HolderKind;
  readonly pid: number;
  /** False in another container, where `pid` means another process or none. */
  readonly isHere: boolean;
}

const namePrefix = 'lock.';
const busy = 'busy';

const tryingMsMax = 10_000;
const askMsMax = 1_000;
const askAgainMs = 5;

/** Through the open directory a socket's path is short enough (about 100 characters). */
export function pathOf(handle: FileHandle, directory: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : directory;
}

/** A copy of the directory has the socket's file, but no listener. Rejects if the directory is missing. */
export async function isDirectoryLocked(directory: string): Promise<boolean> {
  return (await askStates(directory)).length > 0;
}

/** Undefined if there is none, or it is too busy to answer. */
export async function lockHolder(directory: string): Promise<LockHolder | undefined> {
  const held = (await askStates(directory)).filter((state) => state.startsWith('held '));
  return held[0] === undefined ? undefined : holderIn(held[0]);
}

function holderIn(text: string): LockHolder | undefined {
  const [, kind, pid, namespace = ''] = /^(?:held|trying) (server|command) (\d+) (.*)$/.exec(text) ?? [];
  if (kind !== 'server' && kind !== 'command') return undefined;
  return { kind, pid: Number(pid), isHere: namespace === processNamespace() };
}

/** True also if the holder is too busy to answer. */
export async function isServed(directory: string): Promise<boolean> {
  return (await askStates(directory)).some((state) => state === busy || state.startsWith('held server '));
}

async function askStates(directory: string): Promise<string[]> {
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

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return '';
  }
}

/**
 * One process at a time. The lock is a listening socket `lock.<random name>`, which the system closes with
 * the process. Names are never reused, so any process may remove a dead one's socket. Each candidate listens
 * first, then checks the others: it gives up if a lower name tries, and waits while a higher one does. So one
 * always gets the lock.
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
 * The state of `other` if it has the lock or will get it; undefined if `own` goes first or `other` is dead.
 */
async function holderBefore(path: string, other: string, own: string): Promise<string | undefined> {
  const deadline = performance.now() + tryingMsMax;
  for (let refused = 0; ; ) {
    const state = await ask(join(path, other));
    if (state === undefined) refused += 1;
    // A socket has its name a moment before it listens: one refusal does not prove that its process is dead.
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

const removeDead = (path: string): Promise<void> => rm(path, { force: true });

async function release(server: Server, handle: FileHandle): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await handle.close();
}

function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    socket.setTimeout(askMsMax, () => {
      // Alive but busy: it counts as the holder.
      socket.destroy();
      resolve(busy);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    // Its backlog is full: it is alive.
    socket.on('error', (error) => resolve(errorCode(error) === 'EAGAIN' ? busy : undefined));
  });
}

function listen(path: string, state: () => string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(state(), () => socket.destroy());
    });
    server.once('error', reject);
    server.listen({ path, readableAll: false }, () => {
      server.unref();
      resolve(server);
    });
  });
}
