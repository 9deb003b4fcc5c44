import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { AddressCounts } from '../../src/http/connections.ts';

test('the connections of an address are counted in the system’s tables, IPv4 inside IPv6 as IPv4', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened = ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2', '::1', '::1'];
  const sockets = await Promise.all(
    opened.map(async (localAddress) => {
      const host = localAddress.includes(':') ? '::1' : '127.0.0.1';
      const socket = connect({ port, host, localAddress });
      await once(socket, 'connect');
      return socket;
    }),
  );
  const ofV4 = (last: number) => new Uint8Array([127, 0, 0, last]).buffer;
  const mapped = new Uint8Array([...Array<number>(10).fill(0), 255, 255, 127, 0, 0, 1]).buffer;
  const v6 = new Uint8Array([...Array<number>(15).fill(0), 1]).buffer;
  assert.equal(new AddressCounts().withNew(ofV4(1), port), 3);
  assert.equal(new AddressCounts().withNew(ofV4(2), port), 1);
  assert.equal(new AddressCounts().withNew(mapped, port), 3);
  assert.equal(new AddressCounts().withNew(v6, port), 2);
  const counts = new AddressCounts();
  // A second connection soon after is added to the last count.
  assert.deepEqual(
    [counts.withNew(v6, port), counts.withNew(v6, port), counts.withNew(ofV4(9), port)],
    [2, 3, 1],
  );
  for (const socket of sockets) socket.destroy();
  server.close();
});
