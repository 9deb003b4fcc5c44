import { Agent, request } from 'node:http';
import { uws } from '../../src/http/uws.ts';

/**
 * A minimal server in the place of the service: for each request it reads a page and a count from the engine at the same time,
 * and passes the bytes on. It has no key check, parameters, limits or log, so the difference shows the cost of these. Takes its
 * options as JSON in its first argument, prints its port, and ends when its standard input ends.
 */
interface Orders {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Paths with the queries, for the page and for the count. */
  readonly paths: readonly string[];
}

const { url, headers, paths } = JSON.parse(process.argv[2] ?? '{}') as Orders;
const { hostname, port } = new URL(url);
const agent = new Agent({ keepAlive: true });

function ask(path: string): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const call = request({ agent, hostname, port, path, method: 'POST', headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(pieces) : reject(new Error(`status ${answer.statusCode}`)),
      );
      answer.on('error', reject);
    });
    call.on('error', reject);
    call.end();
  });
}

const app = uws.App();
app.any('/*', (res) => {
  let open = true;
  res.onAborted(() => {
    open = false;
  });
  void Promise.all(paths.map(ask)).then(([page = [], count = []]) => {
    const total = Buffer.concat(count).toString().trim();
    const body = Buffer.concat([...page, Buffer.from(`,"meta":{"total":${total}}}`)]);
    const push = (offset: number): boolean => !open || res.tryEnd(body.subarray(offset), body.length)[0];
    res.cork(() => {
      if (!push(0)) res.onWritable(push);
    });
  });
});
app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  process.stdout.write(`${uws.us_socket_local_port(socket)}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
