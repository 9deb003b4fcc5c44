import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/storage/limits.ts';
import { ByteReader, type Call } from '../../src/storage/byte-reader.ts';

/** What the other side does with the next request, once it has its head. */
let answer: (socket: Socket, request: string) => void;
let server: Server;
let reader: ByteReader;
let connectionsMade = 0;
const sockets = new Set<Socket>();

before(async () => {
  server = createServer({ noDelay: true }, (socket) => {
    connectionsMade += 1;
    sockets.add(socket);
    let request = '';
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      request += data.toString('latin1');
      if (!isWhole(request)) return;
      const whole = request;
      request = '';
      answer(socket, whole);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  reader = new ByteReader(new URL(`http://127.0.0.1:${port}`), { 'X-Mine': 'yes' });
});
after(() => {
  reader.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

function isWhole(request: string): boolean {
  const head = request.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /content-length: (\d+)/i.exec(request.slice(0, head))?.[1];
  return request.length >= head + 4 + Number(length);
}

interface Heard {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

interface PostOptions {
  readonly wants?: (piece: Uint8Array, call: Call) => boolean;
}

function post(options: PostOptions = {}): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let headers: ReadonlyMap<string, string> = new Map();
    const pieces: Buffer[] = [];
    const call = reader.post('/a?b=c', 'SELECT 1', {
      head(given, all) {
        status = given;
        headers = all;
      },
      data(piece) {
        pieces.push(Buffer.from(piece));
        return options.wants?.(piece, call) ?? true;
      },
      end: () => resolve({ status, headers, body: Buffer.concat(pieces) }),
      failed: reject,
    });
  });
}

/** Writes the bytes in these pieces, each on its own. */
async function dribble(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (let i = 1; i < at.length; i++) {
    socket.write(bytes.subarray(at[i - 1], at[i]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const chunked = (parts: readonly Buffer[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap((part) => [
      Buffer.from(`${part.length.toString(16)};x=y\r\n`),
      part,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\nX-Trailer: z\r\n\r\n'),
  ]);

describe('answers', () => {
  test('come whole, whatever their framing and however they are cut', async () => {
    const body = fc.array(fc.integer({ min: 1, max: 3000 }), { maxLength: 5 });
    const cuts = fc.array(fc.nat(20_000), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(body, cuts, fc.boolean(), fc.boolean(), async (sizes, at, inChunks, interim) => {
        // Bytes that look like frames, to confuse whoever counts wrongly.
        const parts = sizes.map((size) => Buffer.alloc(size, '\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n'));
        const whole = Buffer.concat(parts);
        const framing = inChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${whole.length}`;
        const head = `${interim ? 'HTTP/1.1 102 Processing\r\n\r\n' : ''}HTTP/1.1 200 OK\r\nX-A:  b \r\n${framing}\r\n\r\n`;
        answer = (socket) =>
          void dribble(socket, Buffer.concat([Buffer.from(head), inChunks ? chunked(parts) : whole]), at);
        const heard = await post();
        assert.equal(heard.status, 200);
        assert.equal(heard.headers.get('x-a'), 'b');
        assert.ok(heard.body.equals(whole));
      }),
      { numRuns: 150 },
    );
    assert.equal(connectionsMade, 1, 'one connection serves calls that follow each other');
  });

  test('without a length end with the connection, which is not used again', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nto the end');
    assert.equal((await post()).body.toString(), 'to the end');
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await post()).body.toString(), 'ok');
    answer = (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await post()).status, 204);
  });

  for (const [name, text] of [
    ['nothing', ''],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-'],
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
    ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf'],
    ['chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
    ['something else than HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['a chunk without a length', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a chunk longer than it says', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n'],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(limits.engineHeadBytesMax)}`],
  ] as const) {
    test(`${name} is a failure, and the next call goes on`, async () => {
      answer = (socket) => socket.end(text);
      await assert.rejects(post(), Error);
      answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await post()).body.toString(), 'ok');
    });
  }

  test('a receiver that wants a pause gets one, and everything after it', async () => {
    const whole = Buffer.alloc(8 * 1024 * 1024, 'abcdefg');
    answer = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${whole.length}\r\n\r\n`);
      socket.write(whole);
    };
    let pauses = 0;
    let paused = false;
    const { body } = await post({
      wants(_piece, call) {
        assert.equal(paused, false, 'nothing comes while it is paused');
        if (pauses >= 3) return true;
        pauses += 1;
        // What one read gave comes at once; a pause begins with the next.
        setImmediate(() => {
          paused = true;
          setTimeout(() => {
            paused = false;
            call.resume();
          }, 20);
        });
        return false;
      },
    });
    assert.equal(pauses, 3);
    assert.ok(body.equals(whole));
  });
});

describe('requests', () => {
  test('say what they must', async () => {
    let seen = '';
    answer = (socket, request) => {
      seen = request;
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    };
    await post();
    assert.match(seen, /^POST \/a\?b=c HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
    assert.match(seen, /\r\nX-Mine: yes\r\n/);
    assert.match(seen, /\r\nContent-Length: 8\r\n\r\nSELECT 1$/);
  });

  test('none is sent on a connection that has just grown too old', async () => {
    answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await Promise.all([post(), post()]);
    // Timers of one duration fire in the order in which they were set: this right after that of the connection.
    const next = await new Promise<Heard>((resolve, reject) => {
      reader.post('/', 'x', {
        head: () => undefined,
        data: () => true,
        end: () => void setTimeout(() => void post().then(resolve, reject), limits.engineIdleConnectionMs),
        failed: reject,
      });
    });
    assert.equal(next.body.toString(), 'ok');
  });

  test('none is sent on a connection that grew too old while nothing could run', async () => {
    answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await Promise.all([post(), post()]);
    const made = connectionsMade;
    const until = performance.now() + limits.engineIdleConnectionMs + 100;
    while (performance.now() < until);
    assert.equal((await post()).body.toString(), 'ok');
    assert.equal(connectionsMade, made + 1);
  });

  test('none is sent on a connection that the other side has ended', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await Promise.all([post(), post(), post()]);
    answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([post(), post(), post()]);
  });

  test('a call that is given up hears nothing more, and others go on', async () => {
    const held: Socket[] = [];
    answer = (socket) => void held.push(socket);
    const silent = { head: assert.fail, data: () => true, end: assert.fail, failed: assert.fail };
    const calls = Array.from({ length: 20 }, () => reader.post('/', 'x', silent));
    while (held.length < calls.length) await new Promise((resolve) => setTimeout(resolve, 5));
    const other = post();
    for (const call of calls) call.destroy();
    while (held.length <= calls.length) await new Promise((resolve) => setTimeout(resolve, 5));
    held.at(-1)?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await other).body.toString(), 'ok');
    for (const call of calls) {
      call.resume();
      call.destroy();
    }
  });
});
