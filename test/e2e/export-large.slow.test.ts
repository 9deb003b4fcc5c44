import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../src/read/limits.ts';
import { call, eventually, problemOf, retryAfterOf } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { withEngine } from './export-support.ts';

/**
 * Exports that are larger than every buffer on their way (contract: Read, export). The simulator kills engines beside exports;
 * `stream-reply.test.ts` has a source that fails in each encoding.
 */

type Query = Readonly<Record<string, string>>;

const exportUrl = (tenant: Tenant, query: Query = {}) =>
  `${tenant.server.url}/api/v1/audit/export?${new URLSearchParams(query).toString()}`;

const get = (tenant: Tenant, query: Query = {}) =>
  call(exportUrl(tenant, query), { headers: { 'x-api-key': tenant.key } });

const inYear = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };

/** An export whose reader decides when to read. */
interface OpenExport {
  readonly incoming: IncomingMessage;
  readonly status: number;
  /** Reads to the end; rejects where the body is not whole. Resolves with its length in bytes. */
  rest(): Promise<number>;
  leave(): void;
}

function openExport(tenant: Tenant, query: Query, headers: Record<string, string> = {}): Promise<OpenExport> {
  return new Promise((resolve, reject) => {
    const outgoing = request(exportUrl(tenant, query), {
      agent: false,
      headers: { 'x-api-key': tenant.key, ...headers },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      incoming.pause();
      const errors: Error[] = [];
      incoming.on('error', (error) => errors.push(error));
      resolve({
        incoming,
        status: incoming.statusCode ?? 0,
        rest: () =>
          new Promise((whole, cut) => {
            let bytes = 0;
            incoming.on('data', (piece: Buffer) => {
              bytes += piece.length;
            });
            const done = () => {
              if (incoming.complete && errors.length === 0) whole(bytes);
              else cut(errors[0] ?? new Error('cut short'));
            };
            if (incoming.closed) done();
            else incoming.on('close', done).resume();
          }),
        leave: () => void outgoing.destroy(),
      });
    });
    outgoing.end();
  });
}

describe('exports of many events', () => {
  const copies = 150;
  let server: TestServer;
  let tenant: Tenant;

  const running = () =>
    withEngine(server, async (storage) => {
      const query =
        "SELECT query_id FROM system.processes WHERE query LIKE '%AS total%' AND query NOT LIKE '%system.processes%'";
      return (await storage.rows(query)).length;
    });

  before(async () => {
    server = await startServer();
    tenant = await createTenant(server, 'large');
    await tenant.record(
      Array.from({ length: 1000 }, (_, n) => sourceEvent({ extra: { n, pad: randomUUID().repeat(18) } })),
    );
    await tenant.settled(1000);
    const columns =
      'activity_id, activity_name, severity, status, level, result_code, actor_email, actor_id, names, file_hash, file_name, target_name, flow_id, expires, ocsf, source';
    await withEngine(server, (storage) =>
      storage.command(
        `INSERT INTO events (org, time, seq, ${columns}) SELECT org, time, toUInt64(r * 1000 + copy), ${columns} FROM ` +
          `(SELECT *, rowNumberInAllBlocks() AS r FROM events WHERE org = {org:UUID}) ARRAY JOIN range(${copies}) AS copy`,
        { org: tenant.organization.id },
      ),
    );
  });
  after(() => server?.stop());

  test('the memory of the server does not follow the size', async () => {
    const residentMiB = () => {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    };
    for (const format of ['ndjson', 'csv']) {
      await get(tenant, { format, ...inYear, fileName: 'none' });
      const atFirst = residentMiB();
      let most = 0;
      const timer = setInterval(() => {
        most = Math.max(most, residentMiB());
      }, 20);
      const open = await openExport(tenant, { format, ...inYear });
      try {
        // A reader that stands still for a moment holds the query, not the bytes.
        await sleep(1000);
        const bytes = await open.rest();
        assert.ok(bytes > 100_000_000);
      } finally {
        clearInterval(timer);
      }
      assert.ok(most - atFirst < 64, `${format}: from ${atFirst} to ${most} MiB`);
    }
  });

  test('more at once than an organization may have: 429 until one ends; leaving ends the query', async () => {
    const open = await Promise.all(
      Array.from({ length: limits.exportsPerOrganizationMax }, () => openExport(tenant, { format: 'json' })),
    );
    assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
    const refused = await get(tenant, { format: 'csv' });
    problemOf(refused, 429);
    assert.ok(retryAfterOf(refused) >= 1);
    assert.equal(await running(), open.length);
    // Others are not concerned.
    const other = await createTenant(server, 'bystander');
    assert.equal((await get(other)).status, 200);

    open[0]?.leave();
    await eventually('the place to be free and its query to end', async () =>
      (await running()) === open.length - 1 ? true : undefined,
    );
    assert.equal((await get(tenant, { actor: 'nobody' })).status, 200);
    for (const one of open) one.leave();
    await eventually('every query to end', async () => ((await running()) === 0 ? true : undefined));
    await Promise.all(
      Array.from({ length: limits.exportsPerOrganizationMax }, async () =>
        assert.equal((await get(tenant, { actor: 'nobody' })).status, 200),
      ),
    );
  });
});
