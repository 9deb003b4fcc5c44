import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { createLogger } from '../../src/base/observability/log.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { MicroCase } from './measure.ts';

const pageBytes = 1_100_000;

/** Answers every POST with a page in chunks, like an engine, in its own thread. */
const server = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const chunk = Buffer.alloc(64 * 1024, 'x');
const frame = (bytes) => Buffer.concat([Buffer.from(bytes.length.toString(16) + '\\r\\n'), bytes, Buffer.from('\\r\\n')]);
const pieces = [Buffer.from('HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\nKeep-Alive: timeout=60\\r\\n\\r\\n')];
for (let left = workerData; left > 0; left -= chunk.length) pieces.push(frame(chunk.subarray(0, Math.min(left, chunk.length))));
const answer = Buffer.concat([...pieces, Buffer.from('0\\r\\n\\r\\n')]);
createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  socket.on('data', (data) => { if (data.includes('SELECT')) socket.write(answer); });
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });
`;

/** Reads a page from the engine's socket into memory, with our reader and with the official client's stream. */
async function reader(): Promise<MicroCase> {
  const worker = new Worker(server, { eval: true, workerData: pageBytes });
  const [port] = (await once(worker, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  const connection = { url, user: 'u', password: 'p', database: 'd', headers: {} };
  const storage = openStorage(connection, createLogger('silent'));
  const client = createClient({ url, log: { level: ClickHouseLogLevel.OFF } });
  const holding = { headroom: 64, tailroom: 1024, bytesMax: 2 * pageBytes };
  return {
    title: 'page of 1.1 MB from the socket into memory',
    unit: 'pages',
    units: 1,
    run: async () => {
      const page = await storage.bytes('SELECT 1', {}, holding);
      if (!('release' in page) || page.end - page.start !== pageBytes) throw new Error('the page is short');
      page.release();
    },
    reference: {
      name: 'the stream of @clickhouse/client',
      run: async () => {
        const { stream } = await client.exec({ query: 'SELECT 1' });
        let bytes = 0;
        for await (const piece of stream) bytes += (piece as Buffer).length;
        if (bytes !== pageBytes) throw new Error('the page is short');
      },
    },
  };
}

export const readerCases = { 'micro.reader': reader };
