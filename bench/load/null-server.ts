import { uws } from '../../src/http/uws.ts';

/**
 * A server that does nothing, to measure the generator's own cost: it reads any POST and answers 202; GET /size/N returns N bytes.
 * Prints its port, and ends when its standard input ends.
 */
const exclusive = uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
const bodies = new Map<number, Buffer>();

function bodyOf(size: number): Buffer {
  let body = bodies.get(size);
  if (body === undefined) bodies.set(size, (body = Buffer.alloc(size, 0x20)));
  return body;
}

const app = uws.App();
app.any('/*', (res, req) => {
  const size = /^\/size\/(\d{1,8})$/.exec(req.getUrl());
  let open = true;
  res.onAborted(() => {
    open = false;
  });
  if (size) {
    const body = bodyOf(Number(size[1]));
    const push = (offset: number): boolean => !open || res.tryEnd(body.subarray(offset), body.length)[0];
    res.cork(() => {
      if (!push(0)) res.onWritable(push);
    });
    return;
  }
  res.onData((_chunk, isLast) => {
    if (isLast && open) res.cork(() => res.writeStatus('202 Accepted').end('{"accepted":1}'));
  });
});
app.listen('127.0.0.1', 0, exclusive, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  process.stdout.write(`${uws.us_socket_local_port(socket)}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
