import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, before, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { organizationEventsHandler } from '../../src/http/routes/events.ts';
import { createLegacyReader } from '../../src/read/legacy.ts';
import { openStorage } from '../../src/storage/client.ts';
import { startTestServer, type TestServer } from '../http/support.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { call } from '../support/http.ts';
import { createCaller, createRecorder } from './support.ts';

const path = '/api/v1/dashboard/organization/get-events-in-org';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Memory in use: the amount of garbage depends on V8. */
function bufferedBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('source events of an organization in large numbers', () => {
  const recorded = 30_000;
  const copies = 9;
  const count = recorded * (copies + 1);
  const caller = createCaller();
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
    const pad = 'abcdefghij'.repeat(40);
    const events = Array.from({ length: recorded }, (_, n) => {
      // Twelve months, because parts are made by month.
      const timestamp = 1_600_000_000_000_000 + (n % 12) * 2_700_000_000_000 + n * 1000;
      return `{"message":{"action":2001,"timestamp":${timestamp},"extra":{"pad":"${n}${pad}"}}}`;
    });
    await createRecorder(engine.storage)(caller.organization.id, events);
    await engine.storage.command(
      `INSERT INTO events SELECT * REPLACE (seq + copy AS seq) FROM events
       ARRAY JOIN range(1, 1 + {copies:UInt64}) AS copy WHERE org = {org:UUID}`,
      { org: caller.organization.id, copies },
    );
  });

  it('stream whole, in constant memory here and in the engine, at the pace of a slow reader', async () => {
    const server = await serve(caller, limited(64));
    const incoming = await open(`${server.url}${path}`);
    const read = createCounter();
    const heldBefore = bufferedBytes();
    let grown = 0;
    let chunks = 0;
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      read(chunk);
      if (chunks++ % 200 !== 0) continue;
      await sleep(5);
      grown = Math.max(grown, bufferedBytes() - heldBefore);
    }
    const { events, bytes } = read();
    assert.equal(events, count);
    assert.ok(bytes > 400 * count);
    assert.ok(grown < 64 * 1024 * 1024, `memory grew by ${grown} bytes for ${bytes} sent`);
  });

  it('break the connection when the engine fails on the way', async () => {
    const url = new URL(engine.connection.url);
    const proxy = await startFaultProxy(Number(url.port));
    const storage = openStorage({ ...engine.connection, url: proxy.url }, silentLog);
    const server = await serve(caller, storage);
    proxy.set({ cutAfterBytes: 20_000_000 });
    await assert.rejects(call(`${server.url}${path}`));
    proxy.set('refuse');
    const answer = await call(`${server.url}${path}`);
    assert.equal(answer.status, 500);
    await storage.close();
    await proxy.stop();
  });

  it('end in the engine when the client goes', async () => {
    const server = await serve(caller);
    const incoming = await open(`${server.url}${path}`);
    await once(incoming, 'data');
    incoming.destroy();
    for (let tries = 0; tries < 200; tries++) {
      const running = await engine.storage.rows(
        "SELECT 1 FROM system.processes WHERE query LIKE 'SELECT source FROM events%'",
      );
      if (running.length === 0) return;
      await sleep(25);
    }
    assert.fail('the query went on without a reader');
  });
  const servers: TestServer[] = [];
  const serve = async (caller = createCaller(), storage = engine.storage): Promise<TestServer> => {
    const handler = organizationEventsHandler(createLegacyReader(storage));
    const route = { method: 'GET' as const, path, name: 'legacy' };
    const server = await startTestServer([{ ...route, handler: (context) => handler(context, caller) }]);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  /** The same engine with this many megabytes for each query. */
  function limited(megabytes: number): typeof engine.storage {
    const { storage } = engine;
    return {
      ...storage,
      flow: (query, parameters, options) => {
        const settings = { ...options?.settings, max_memory_usage: megabytes * 1_000_000 };
        return storage.flow(query, parameters, { ...options, settings });
      },
    };
  }
});

async function open(url: string): Promise<IncomingMessage> {
  const [incoming] = (await once(get(url), 'response')) as [IncomingMessage];
  assert.equal(incoming.statusCode, 200);
  return incoming;
}

/** Counts events (each ends a line) and bytes of chunks. */
function createCounter(): (chunk?: Buffer) => { events: number; bytes: number } {
  let lines = 0;
  let bytes = 0;
  return (chunk) => {
    if (chunk !== undefined) {
      bytes += chunk.length;
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
    }
    return { events: lines, bytes };
  };
}
