import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestServer } from './support.ts';

const chunk = Buffer.alloc(64 * 1024, 'x');

test('a reader of a stream that stands still for longer than the library allows gets the rest', async () => {
  const sources: Readable[] = [];
  const it = await startTestServer([
    {
      method: 'GET',
      path: '/endless',
      name: 'endless',
      handler() {
        const source = new Readable({ read: () => void source.push(chunk) });
        sources.push(source);
        return { status: 200, headers: { 'Content-Type': 'application/zip' }, stream: source };
      },
    },
  ]);
  const socket = connect(it.server.port, '127.0.0.1');
  socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n');
  await delay(13_000);
  assert.equal(sources[0]?.destroyed, false);
  let received = 0;
  socket.on('data', (data) => (received += data.length));
  await delay(300);
  assert.ok(received > 16 * 1024 * 1024, `only ${received} bytes came after the pause`);
  socket.destroy();
  await it.close();
});
