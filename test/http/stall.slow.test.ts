import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fromReadable } from '../../src/base/bytes/byte-flow.ts';
import { makeAuthority } from '../support/certificates.ts';
import { exchangeRaw, startTestServer } from './support.ts';

const chunk = Buffer.alloc(64 * 1024, 'x');

describe('slow readers', { concurrency: true }, () => {
  test('a reader of a stream that pauses longer than the library allows gets the rest', async () => {
    const sources: Readable[] = [];
    const it = await startTestServer([
      {
        method: 'GET',
        path: '/endless',
        name: 'endless',
        handler() {
          const source = new Readable({ read: () => void source.push(chunk) });
          sources.push(source);
          return {
            status: 200,
            headers: { 'Content-Type': 'application/zip' },
            stream: fromReadable(source),
          };
        },
      },
    ]);
    const socket = connect(it.server.port, '127.0.0.1');
    socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n');
    await delay(13_000);
    assert.equal(sources[0]?.destroyed, false);
    let received = 0;
    for await (const data of socket as AsyncIterable<Buffer>) {
      received += data.length;
      if (received > 16 * 1024 * 1024) break;
    }
    assert.ok(received > 16 * 1024 * 1024, `only ${received} bytes came after the pause`);
    await it.close();
  });

  test('a reader that is slow but steady gets everything, however large the pieces of the source', async () => {
    const bytes = 8 * 1024 * 1024;
    const it = await startTestServer([
      {
        method: 'GET',
        path: '/large-pieces',
        name: 'large-pieces',
        handler: () => ({
          status: 200,
          headers: { 'Content-Type': 'application/zip' },
          stream: fromReadable(
            Readable.from([Buffer.alloc(bytes / 2, 'a'), Buffer.alloc(bytes / 2, 'b')], {
              objectMode: false,
            }),
          ),
        }),
      },
    ]);
    const socket = connect({ port: it.server.port, host: '127.0.0.1' });
    socket.write('GET /large-pieces HTTP/1.1\r\nHost: x\r\n\r\n');
    const slowUntil = performance.now() + 14_000;
    let received = 0;
    for await (const data of socket as AsyncIterable<Buffer>) {
      received += data.length;
      if (performance.now() < slowUntil) await delay(data.length / 150);
      if (received >= bytes && data.subarray(-5).toString('latin1') === '0\r\n\r\n') break;
    }
    assert.ok(received >= bytes, `cut after ${received} bytes`);
    await it.close();
  });

  for (const isTls of [false, true]) {
    test(`a steady reader never waits for bytes that the service has${isTls ? ', over TLS' : ''}`, async (context) => {
      const directory = await mkdtemp(join(tmpdir(), 'steady-'));
      const certificate = isTls ? await (await makeAuthority(directory))?.issue('server') : undefined;
      if (isTls && certificate === undefined) return context.skip('openssl is not installed');
      const tls = certificate && { pem: certificate.pemFile, clientCa: undefined };
      const pieces = Array.from({ length: 1_600 }, () => chunk);
      const headers = { 'Content-Type': 'application/zip' };
      const routes = [
        {
          method: 'GET',
          path: '/stream',
          name: 'stream',
          handler: () => ({ status: 200, headers, stream: fromReadable(Readable.from(pieces)) }),
        },
        {
          method: 'GET',
          path: '/fixed',
          name: 'fixed',
          handler: () => ({ status: 200, headers, body: Buffer.alloc(40_000_000, 'x') }),
        },
      ] as const;
      const it = await startTestServer(routes, { tls });
      const longestWaitMs = async (path: string): Promise<number> => {
        const { port } = it.server;
        const socket = isTls ? connectTls({ port, rejectUnauthorized: false }) : connect(port, '127.0.0.1');
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        let longestMs = 0;
        let received = 0;
        const begunMs = performance.now();
        let askedMs = begunMs;
        for await (const data of socket as AsyncIterable<Buffer>) {
          longestMs = Math.max(longestMs, performance.now() - askedMs);
          received += data.length;
          await delay(Math.max(0, begunMs + received / 20_000 - performance.now()));
          askedMs = performance.now();
        }
        assert.ok(received > 40_000_000, `${path} ended after ${received} bytes`);
        return longestMs;
      };
      const [ofStream, ofFixed] = await Promise.all([longestWaitMs('/stream'), longestWaitMs('/fixed')]);
      await it.close();
      await rm(directory, { recursive: true });
      assert.ok(ofStream < 700, `the stream paused for ${ofStream} ms`);
      assert.ok(ofFixed < 700, `the fixed answer paused for ${ofFixed} ms`);
    });
  }

  test('a body that does not come on is answered before the library closes the connection', async () => {
    const it = await startTestServer([
      {
        method: 'POST',
        path: '/store',
        name: 'store',
        body: { maxBytes: 1024 * 1024 },
        handler: async (context) => {
          const { bytes, release } = await context.body();
          release();
          return { status: 200, body: String(bytes.length) };
        },
      },
    ]);
    const head = (field: string): string => `POST /store HTTP/1.1\r\nHost: x\r\n${field}\r\n\r\n`;
    const bodies = [
      head('Content-Length: 10'),
      `${head('Content-Length: 500000')}abc`,
      `${head('Transfer-Encoding: chunked')}3\r\nabc\r\n`,
      // The library reads an extension as part of the size.
      `${head('Transfer-Encoding: chunked')}3;a=b\r\nabc\r\n0\r\n\r\n`,
    ];
    const answers = await Promise.all(
      bodies.map((body) => exchangeRaw(it.server.port, [body], 1_000, 12_000)),
    );
    const statuses = (await it.accessLines()).map(({ status }) => status);
    await it.close();
    assert.deepEqual(
      statuses,
      bodies.map(() => 408),
    );
    for (const [at, answer] of answers.entries())
      assert.match(answer, /^HTTP\/1\.1 408 Request Timeout[^]*did not arrive within 7 seconds/, bodies[at]);
  });

  test('a client that does not finish its TLS handshake loses its connection', async (context) => {
    const directory = await mkdtemp(join(tmpdir(), 'tls-stall-'));
    const certificate = await (await makeAuthority(directory))?.issue('server');
    if (certificate === undefined) return context.skip('openssl is not installed');
    const tls = { pem: certificate.pemFile, clientCa: undefined };
    const it = await startTestServer([], { tls });
    const silent = connect(it.server.port, '127.0.0.1').resume();
    const slow = connect(it.server.port, '127.0.0.1').resume();
    // The beginning of a TLS greeting, byte by byte.
    const greeting = Buffer.from('16030102000100', 'hex');
    let sent = 0;
    const drip = setInterval(() => slow.write(greeting.subarray(sent, ++sent)), 1500);
    // With a reset or without one.
    const gone = (socket: Socket) =>
      new Promise<void>((resolve) => {
        socket.on('error', () => undefined).once('close', () => resolve());
      });
    await Promise.all([silent, slow].map(gone)).finally(() => clearInterval(drip));
    await it.close();
    await rm(directory, { recursive: true });
  });
});
