import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { tcpEnds, tcpFacts } from '../../src/tools/forward/tcp-table.ts';
import { eventually } from '../support/http.ts';

for (const host of ['127.0.0.1', '::1']) {
  test(`what the system knows of a connection to ${host}, from its bytes to its end and to a reset`, async (t) => {
    const server = createServer({ pauseOnConnect: true });
    const failed = once(server, 'error').then(() => true);
    server.listen(0, host);
    const isRefused = await Promise.race([once(server, 'listening').then(() => false), failed]);
    if (isRefused) return t.skip('this machine has no such address');
    const taken = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect((server.address() as AddressInfo).port, host);
    await once(socket, 'connect');
    const ends = tcpEnds(socket) ?? assert.fail('a connection has two ends');
    const [other] = await taken;
    assert.deepEqual(await tcpFacts(ends), { unacknowledged: 0, isEndTaken: false });
    socket.write(Buffer.alloc(1_000_000));
    assert.ok(((await tcpFacts(ends))?.unacknowledged ?? 0) > 0);
    socket.end();
    other.resume();
    await eventually('the end to be taken', async () => (await tcpFacts(ends))?.isEndTaken || undefined);
    const second = connect((server.address() as AddressInfo).port, host);
    const [[secondOther]] = await Promise.all([
      once(server, 'connection') as Promise<[Socket]>,
      once(second, 'connect'),
    ]);
    const secondEnds = tcpEnds(second) ?? assert.fail('a connection has two ends');
    second.on('error', () => undefined);
    secondOther.resetAndDestroy();
    await eventually('the reset', async () => (await tcpFacts(secondEnds)) === undefined || undefined);
    server.close();
  });
}
