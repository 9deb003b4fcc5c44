import { createServer } from 'node:net';

/** Why the service cannot listen. `taken`: another program does, on this port. `unusable`: nobody could, here. */
export class AddressError extends Error {
  readonly reason: 'taken' | 'unusable';

  constructor(reason: 'taken' | 'unusable', message: string) {
    super(message);
    this.name = 'AddressError';
    this.reason = reason;
  }
}

function addressError(host: string, port: number, error: NodeJS.ErrnoException): Error {
  const code = error.code ?? error.message;
  if (code === 'EADDRINUSE') {
    return new AddressError('taken', `cannot listen on ${host} port ${port}: the port is in use`);
  }
  if (code === 'EACCES') {
    return new AddressError('unusable', `PORT is "${port}": this user may not listen on it`);
  }
  const why = {
    EADDRNOTAVAIL: 'allowed is an address of this machine',
    EINVAL: 'allowed is an address of this machine',
    ENOTFOUND: 'no address is found for this name',
    EAI_AGAIN: 'no address is found for this name',
  }[code];
  if (why !== undefined) return new AddressError('unusable', `HOST is ${JSON.stringify(host)}: ${why}`);
  return new Error(`cannot listen on ${host} port ${port}: ${code}`, { cause: error });
}

/**
 * Listens for a moment, as the library that serves does not say why it cannot. Rejects with an AddressError fit for
 * the operator. With port 0 it looks at the host alone.
 */
export function checkAddress(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer((socket) => socket.destroy());
    probe.once('error', (error) => reject(addressError(host, port, error)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
