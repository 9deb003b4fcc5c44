import { Agent, createServer, request } from 'node:http';

export interface NodeDoor {
  readonly url: string;
  stop(): Promise<void>;
  /** The same when this process ends, which the door does not keep from it. */
  stopAtExit(): void;
}

/**
 * An HTTP proxy before an engine that passes all requests on to it, and those that begin with DELETE to another one.
 * On node b of the two shards a replacing table is a Distributed one, out of which nothing can be deleted.
 */
export function startNodeDoor(port: number, portOfDeletes: number): Promise<NodeDoor> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, answer) => {
    incoming.once('error', () => answer.destroy());
    incoming.once('readable', () => {
      const first = (incoming.read() ?? Buffer.alloc(0)) as Buffer;
      const to = first.subarray(0, 6).toString() === 'DELETE' ? portOfDeletes : port;
      const { method, headers, url: path } = incoming;
      const outgoing = request({ host: '127.0.0.1', port: to, method, headers, path, agent }, (found) => {
        answer.writeHead(found.statusCode ?? 502, found.headers);
        // Cut short there is cut short here.
        found.once('aborted', () => answer.destroy());
        found.once('error', () => answer.destroy());
        found.pipe(answer);
      });
      outgoing.once('error', () => answer.destroy());
      answer.once('close', () => outgoing.destroy());
      outgoing.write(first);
      incoming.pipe(outgoing);
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const own = typeof address === 'object' && address ? address.port : 0;
      resolve({
        url: `http://127.0.0.1:${own}`,
        stop: () =>
          new Promise((closed) => {
            agent.destroy();
            server.close(() => closed());
            server.closeAllConnections();
          }),
        stopAtExit: () => server.unref(),
      });
    });
  });
}
