import { strict as assert } from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createClient } from '../../src/client/client.ts';
import { limits } from '../../src/read/limits.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { call, eventually, problemOf, retryAfterOf } from '../support/http.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { withEngine } from './export-support.ts';

/** Answers larger than the memory for one in service and engine (contract: Read). */

const mebibyte = 1024 * 1024;
const events = rounds(400, 1000);
/** An audit event has the text twice, so 1 MiB. */
const textBytes = mebibyte / 2;
const year = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };
/** Slices, and memory that the allocator keeps. */
const growthMebibytesMax = 160;
/** Heaps of threads that map to OCSF 1.1.0 have their own bounds. */
const mappingMebibytesMax = 2 * limits.ocsf110HeapMegabytesMax;

let server: TestServer;
let tenant: Tenant;
let directory: string;

const statusOf = (pid: number, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Growth of resident memory during the work, in MiB. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
  const begun = statusOf(server.pid, 'VmRSS');
  await work();
  return statusOf(server.pid, 'VmHWM') - begun;
}

function ask(path: string, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${server.url}/api/v1/${path}`, { headers: { 'x-api-key': tenant.key }, signal });
}

/** Number of lines, length and end of an answer. */
async function readThrough(path: string): Promise<{ lines: number; bytes: number; end: string }> {
  const answer = await ask(path);
  assert.equal(answer.status, 200);
  let [lines, bytes, end] = [0, 0, ''];
  for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
    const part = Buffer.from(piece);
    bytes += part.length;
    for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) lines++;
    end = (end + part.subarray(-200).toString('latin1')).slice(-200);
  }
  return { lines, bytes, end };
}

const query = (more: Readonly<Record<string, string>>) =>
  new URLSearchParams({ ...year, ...more }).toString();

describe('answers that are larger than memory', { concurrency: false }, () => {
  before(async () => {
    directory = await temporaryDirectory();
    server = await startServer();
    tenant = await createTenant(server, 'large-answers');
    const text = 'x'.repeat(textBytes);
    for (let from = 0; from < events; from += 20) {
      const batch = Array.from({ length: 20 }, (_, at) => ({
        message: {
          timestamp: '2024-05-06T07:08:09Z',
          action: 2001,
          actor: 'a@x',
          extra: { n: from + at, text },
        },
      }));
      const answer = await tenant.post(gzipSync(JSON.stringify(batch), { level: 1 }), {
        'content-encoding': 'gzip',
      });
      assert.equal(answer.status, 202);
    }
    await eventually(
      'all events',
      async () => ((await tenant.page({ ...year, limit: '1' })).meta.total === events ? true : undefined),
      120_000,
    );
  });
  after(async () => {
    await server?.stop();
    await removeDirectory(directory);
  });

  for (const [what, more] of [
    ['of all events', {}],
    ['of events of OCSF', { schema: 'ocsf' }],
  ] as const)
    test(`a page ${what} comes whole, with its total, in bounded memory`, async () => {
      const growth = await growthDuring(async () => {
        const { lines, bytes, end } = await readThrough(`audit?${query({ ...more, limit: '1000' })}`);
        assert.equal(lines, events);
        assert.ok(bytes > events * textBytes);
        assert.ok(end.endsWith(`],"meta":{"total":${events},"limit":1000,"offset":0}}\n`), end);
      });
      const isMapped = 'schema' in more;
      assert.ok(growth < growthMebibytesMax + (isMapped ? mappingMebibytesMax : 0), `${growth} MiB`);
    });

  test('a follower of the feed gets every event, in pages of bounded size', async () => {
    const client = createClient({ url: server.url, apiKey: tenant.key });
    const growth = await growthDuring(async () => {
      let count = 0;
      for await (const page of client.feed({ limit: 1000, follow: false })) {
        const bytes = page.texts.reduce((sum, text) => sum + text.length, 0);
        assert.ok(bytes <= 1.5 * limits.feedPageBytesMax, `${bytes} bytes in a page`);
        count += page.texts.filter((text) => text.length > textBytes).length;
      }
      assert.equal(count, events);
    });
    assert.ok(growth < growthMebibytesMax, `${growth} MiB`);
  });

  test('an export comes whole in bounded memory', async () => {
    const growth = await growthDuring(async () => {
      const { bytes } = await readThrough(`audit/export?${query({ format: 'csv' })}`);
      assert.ok(bytes > events * textBytes);
    });
    assert.ok(growth < growthMebibytesMax, `${growth} MiB`);
  });

  test('more exports at once than an organization may have: 429 until one ends; leaving ends its query', async () => {
    const most = limits.exportsPerOrganizationMax;
    const running = () =>
      withEngine(server, async (storage) => {
        const sql =
          "SELECT query_id FROM system.processes WHERE query LIKE '%AS total%' AND query NOT LIKE '%system.processes%'";
        return (await storage.rows(sql)).length;
      });
    const untilRunning = (count: number) =>
      eventually(`${count} exports to run`, async () => ((await running()) === count ? true : undefined));
    const get = (who: Tenant, more: Readonly<Record<string, string>>) =>
      call(`${server.url}/api/v1/audit/export?${query(more)}`, { headers: { 'x-api-key': who.key } });
    const leaving = Array.from({ length: most }, () => new AbortController());
    const open = await Promise.all(leaving.map(({ signal }) => ask('audit/export?format=json', signal)));
    assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
    const refused = await get(tenant, { format: 'csv' });
    problemOf(refused, 429);
    assert.ok(retryAfterOf(refused) >= 1);
    assert.equal(await running(), most);
    assert.equal((await get(await createTenant(server, 'bystander'), {})).status, 200);
    leaving[0]?.abort();
    await untilRunning(most - 1);
    assert.equal((await get(tenant, { actor: 'nobody' })).status, 200);
    for (const one of leaving) one.abort();
    await untilRunning(0);
    const again = await Promise.all(leaving.map(() => get(tenant, { actor: 'nobody' })));
    assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([200]));
  });

  test('readers that pause cost bounded memory, and delay no other', async () => {
    const sockets: Socket[] = [];
    const growth = await growthDuring(async () => {
      for (let n = 0; n < 40; n++) {
        const path = n % 2 === 0 ? `audit?${query({ limit: '1000' })}` : 'audit/feed?limit=1000';
        const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
        socket.write(`GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${tenant.key}\r\n\r\n`);
        await new Promise((resolve) => socket.once('readable', resolve));
        sockets.push(socket);
      }
      assert.equal((await tenant.page({ ...year, limit: '5' })).meta.total, events);
    });
    for (const socket of sockets) socket.destroy();
    assert.ok(growth < 256 + growthMebibytesMax, `${growth} MiB`);
  });
});
