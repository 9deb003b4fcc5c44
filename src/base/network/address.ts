import { createServer } from 'node:net';

export class AddressError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressError';
  }
}

function addressError(host: string, port: number, error: NodeJS.ErrnoException): Error {
  const code = error.code ?? error.message;
  if (code === 'EADDRINUSE') return new Error(`cannot listen on ${host} port ${port}: the port is in use`);
  if (code === 'EACCES') return new AddressError(`PORT is "${port}": this user may not listen on it`);
  const why = {
    EADDRNOTAVAIL: 'allowed is an address of this machine',
    EINVAL: 'allowed is an address of this machine',
    ENOTFOUND: 'no address is found for this name; allowed is an address of this machine, or its name',
    EAI_AGAIN: 'no address is found for this name; allowed is an address of this machine, or its name',
  }[code];
  if (why !== undefined) return new AddressError(`HOST is ${JSON.stringify(host)}: ${why}`);
  return new Error(`cannot listen on ${host} port ${port}: ${code}`, { cause: error });
}

/** Listens for a moment, because uWebSockets.js does not report errors. Port 0 checks only the host. */
export async function checkAddress(host: string, port: number): Promise<void> {
  const failure = await tryToListen(host, port);
  if (failure !== undefined) throw addressError(host, port, failure);
}

function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const probe = createServer((socket) => socket.destroy());
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
