import { createServer } from 'node:net';
import { portHolder } from './port-holder.ts';

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
