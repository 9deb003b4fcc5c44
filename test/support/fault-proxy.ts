import { connect, createServer, type Socket } from 'node:net';

/**
 * Connections are passed on; refused and closed; open without traffic; or cut after that many bytes of an
 * answer.
 */
export type Fault = 'none' | 'refuse' | 'hang' | { readonly cutAfterBytes: number };

export interface FaultProxy {
  readonly url: string;
  set(fault: Fault): void;
  stop(): Promise<void>;
}

/** A TCP proxy that makes the other side fail. */
export function startFaultProxy(target: number | (() => number)): Promise<FaultProxy> {
  const targetPort = () => (typeof target === 'number' ? target : target());
  let fault: Fault = 'none';
  const open = new Set<Socket>();
  const server = createServer((incoming) => {
    if (fault === 'refuse') return void incoming.destroy();
    const outgoing = connect({ host: '127.0.0.1', port: targetPort() });
    open.add(incoming);
    let answered = 0;
    let isCut = false;
    const end = () => {
      open.delete(incoming);
      incoming.destroy();
      outgoing.destroy();
    };
    // Avoids a reset, which a socket with unread bytes sends: engines may abort at one.
    const cut = (rest: Buffer) => {
      isCut = true;
      incoming.end(rest);
      outgoing.end();
    };
    incoming.on('data', (piece) => {
      if (fault === 'hang' || isCut) return;
      answered = 0;
      outgoing.write(piece);
    });
    outgoing.on('data', (piece) => {
      if (fault === 'hang' || isCut) return;
      answered += piece.length;
      if (typeof fault !== 'object' || answered <= fault.cutAfterBytes) return void incoming.write(piece);
      cut(piece.subarray(0, Math.max(0, piece.length - (answered - fault.cutAfterBytes))));
    });
    const endUnlessCut = () => {
      if (!isCut) end();
    };
    incoming.on('error', end).on('close', end);
    outgoing.on('error', endUnlessCut).on('close', endUnlessCut);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      const destroyAll = () => {
        for (const socket of open) socket.destroy();
      };
      resolve({
        url: `http://127.0.0.1:${port}`,
        set: (next) => {
          fault = next;
          if (next === 'refuse') destroyAll();
        },
        stop: () =>
          new Promise((closed) => {
            server.close(() => closed());
            destroyAll();
          }),
      });
    });
  });
}
