import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

export interface NodeDoor {
  readonly url: string;
  stop(): Promise<void>;
  /** Also when this process ends, which the door does not prevent. */
  stopAtExit(): void;
}

interface DoorOptions {
  /** Of its node. */
  readonly port: number;
  /** Target of changes to rows of replacing tables. */
  readonly portOfChanges: number;
  readonly ports: readonly number[];
  /** A cluster statement for the n-th node; undefined: nothing to do. `target` is the request's. */
  statementFor(n: number, statement: string, target: string): string | undefined;
  /** Nodes with the same value share the changed data: one of them executes the statement. Default: none. */
  placeOf?(n: number, statement: string): string | number;
}

const onCluster = / ON CLUSTER `\w+`/;
const change = /^(DELETE|ALTER TABLE|TRUNCATE) /;

/**
 * An HTTP proxy in front of an engine, with two exceptions. Changes of rows go to the node with the replacing
 * tables: on the other one these are Distributed. Cluster statements run on one node after the other, because
 * there is no Keeper.
 */
export function startNodeDoor(options: DoorOptions): Promise<NodeDoor> {
  const { port, portOfChanges, ports, statementFor, placeOf = (n) => n } = options;
  const agent = new Agent({ keepAlive: true });
  const ask = (incoming: IncomingMessage, to: number, length?: number) => {
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, ...(length !== undefined && { 'content-length': length }) };
    return request({ host: '127.0.0.1', port: to, method, headers, path, agent });
  };
  const answerWith = (found: IncomingMessage, answer: ServerResponse) => {
    answer.writeHead(found.statusCode ?? 502, found.headers);
    // Passes a truncated answer on.
    found.once('aborted', () => answer.destroy());
    found.once('error', () => answer.destroy());
    found.pipe(answer);
  };
  const pass = (incoming: IncomingMessage, first: Buffer, answer: ServerResponse) => {
    const isChange = change.test(first.subarray(0, 20).toString('latin1'));
    const outgoing = ask(incoming, isChange ? portOfChanges : port);
    outgoing.once('response', (found) => answerWith(found, answer));
    outgoing.once('error', () => answer.destroy());
    answer.once('close', () => outgoing.destroy());
    outgoing.write(first);
    incoming.pipe(outgoing);
  };
  const everywhere = async (incoming: IncomingMessage, first: Buffer, answer: ServerResponse) => {
    const pieces = [first];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const whole = Buffer.concat(pieces).toString();
    const silent = new Set<string | number>();
    const done = new Set<string | number>();
    for (const [n, to] of ports.entries()) {
      const statement = statementFor(n, whole, incoming.url ?? '');
      const place = placeOf(n, statement ?? '');
      if (statement === undefined || done.has(place)) continue;
      const bytes = Buffer.from(statement);
      const found = await new Promise<IncomingMessage>((resolve, reject) => {
        ask(incoming, to, bytes.length).once('response', resolve).once('error', reject).end(bytes);
      }).catch(() => undefined);
      if (found === undefined) {
        silent.add(place);
        continue;
      }
      if (found.statusCode !== 200) return answerWith(found, answer);
      found.resume();
      done.add(place);
    }
    if ([...silent].every((place) => done.has(place))) return answer.end();
    // A cluster's answer if a node will execute the statement later.
    answer.writeHead(500, { 'X-ClickHouse-Exception-Code': '159' });
    answer.end('Code: 159. DB::Exception: a node does not answer. (TIMEOUT_EXCEEDED)');
  };
  const server = createServer((incoming, answer) => {
    incoming.once('error', () => answer.destroy());
    incoming.once('readable', () => {
      const first = (incoming.read() ?? Buffer.alloc(0)) as Buffer;
      if (onCluster.test(first.subarray(0, 512).toString('latin1')))
        everywhere(incoming, first, answer).catch(() => answer.destroy());
      else pass(incoming, first, answer);
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
