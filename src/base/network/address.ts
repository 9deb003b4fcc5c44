import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../errors/system-error.ts';

/** Why the service cannot listen. `taken`: another program does, on this port. `unusable`: nobody could, here. */
export class AddressError extends Error {
  readonly reason: 'taken' | 'unusable';

  constructor(reason: 'taken' | 'unusable', message: string) {
    super(message);
    this.name = 'AddressError';
    this.reason = reason;
  }
}

async function addressError(host: string, port: number, error: NodeJS.ErrnoException): Promise<Error> {
  const code = error.code ?? error.message;
  if (code === 'EADDRINUSE') {
    const holder = await portHolder(port);
    const by = holder === undefined ? '' : ` by ${holder}`;
    return new AddressError('taken', `cannot listen on ${host} port ${port}: the port is in use${by}`);
  }
  if (code === 'EACCES') {
    return new AddressError('unusable', `PORT is "${port}": this user may not listen on it`);
  }
  const why = {
    EADDRNOTAVAIL: 'allowed is an address of this machine',
    EINVAL: 'allowed is an address of this machine',
    ENOTFOUND: 'no address is found for this name; allowed is an address of this machine, or its name',
    EAI_AGAIN: 'no address is found for this name; allowed is an address of this machine, or its name',
  }[code];
  if (why !== undefined) return new AddressError('unusable', `HOST is ${JSON.stringify(host)}: ${why}`);
  return new Error(`cannot listen on ${host} port ${port}: ${code}`, { cause: error });
}

/**
 * Listens for a moment, as uWebSockets.js does not say why it cannot. Rejects with an AddressError. Port 0 checks the
 * host alone.
 */
export async function checkAddress(host: string, port: number): Promise<void> {
  const failure = await tryToListen(host, port);
  if (failure !== undefined) throw await addressError(host, port, failure);
}

function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const probe = createServer((socket) => socket.destroy());
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}

/** LISTEN, as the kernel numbers it. */
const listening = '0A';

/**
 * The process that listens on a port here: id and program, or which of our commands. Undefined if the system does not
 * tell. Arguments of other programs are left out: they may be secret.
 */
export async function portHolder(port: number): Promise<string | undefined> {
  try {
    const inodes = new Set([...(await socketsOn(port, 'tcp')), ...(await socketsOn(port, 'tcp6'))]);
    if (inodes.size === 0) return undefined;
    for (const pid of await readdir('/proc'))
      if (/^\d+$/.test(pid) && (await holdsOne(pid, inodes))) return `process ${pid} (${await nameOf(pid)})`;
  } catch (error) {
    // No such table, or it ended meanwhile.
    if (errorCode(error) === undefined) throw error;
  }
  return undefined;
}

async function socketsOn(port: number, table: 'tcp' | 'tcp6'): Promise<string[]> {
  const text = await readFile(`/proc/net/${table}`, 'latin1');
  const local = `:${port.toString(16).padStart(4, '0').toUpperCase()}`;
  return text.split('\n').flatMap((line) => {
    const [, address = '', , state, , , , , , inode] = line.trim().split(/ +/);
    return address.endsWith(local) && state === listening && inode !== undefined ? [inode] : [];
  });
}

async function holdsOne(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(join(directory, name)).catch(() => '')));
  return links.some((link) => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? ''));
}

async function nameOf(pid: string): Promise<string> {
  const [, ...words] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  const program = words.findIndex((word) => /(^|\/)(cli\.[jt]s|auditlog)$/.test(word));
  if (program === -1) return (await readFile(`/proc/${pid}/comm`, 'utf8')).trim();
  const command = words[program + 1] === 'demo' ? 'demo' : 'server';
  return `an auditlog ${command}`;
}
