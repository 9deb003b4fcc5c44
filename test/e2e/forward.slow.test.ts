import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, eventIdentity } from '../../src/client/client.ts';
import { forward as forwardHere } from '../tools/forward-support.ts';
import { call, eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

/** The client and `auditlog forward` against a service that is restarted and killed. */

let dataDir: string;
let directory: string;
let server: TestServer;
let tenant: Tenant;
/**
 * A fixed port, so that a restarted server keeps its address; below the system's range for connections, which
 * could take it.
 */
const env = { PORT: String(20_000 + Math.floor(Math.random() * 10_000)) };
before(async () => {
  [dataDir, directory] = await Promise.all([temporaryDirectory(), temporaryDirectory()]);
  server = await startServer({ dataDir, env });
  tenant = await createTenant(server, 'forwarded');
});
after(async () => {
  await server?.stop();
  await removeDirectory(dataDir);
  await removeDirectory(directory);
});

/** In this process. */
const forward = (...args: string[]) =>
  forwardHere(['--url', server.url, '--once', '--batch', '50', ...args], {
    environment: { AUDITLOG_API_KEY: tenant.key },
  });
const linesOf = async (file: string) => (await readFile(file, 'utf8')).split('\n').slice(0, -1);

/** The texts of all events on the audit endpoint. */
async function allTexts(): Promise<string[]> {
  const client = createClient({ url: server.url, apiKey: tenant.key });
  const texts: string[] = [];
  for (let offset = 0; ; ) {
    const page = await client.page({ limit: 1000, offset });
    texts.push(...page.texts);
    offset += page.texts.length;
    if (offset >= page.total) return texts.map(eventIdentity).sort();
  }
}

/** All acknowledged events are in pages and in the feed, which takes seconds longer on a shared engine. */
async function caughtUp(): Promise<void> {
  await tenant.caughtUp();
  const client = createClient({ url: server.url, apiKey: tenant.key });
  const { total } = await client.page({ limit: 1 });
  await eventually('the feed to have all that pages have', async () => {
    let count = 0;
    for await (const { events } of client.feed({ follow: false })) count += events.length;
    return count >= total ? true : undefined;
  });
}

describe('forwarding from the service', () => {
  test('hands on every event unchanged, over both ways to read, and over a killed server', async () => {
    const answer = await call(`${server.url}/api/v1/audit/feed?limit=1`, {
      headers: { 'x-api-key': tenant.key },
    });
    const modes = answer.status === 404 ? ['pages'] : ['feed', 'pages'];
    const files = modes.map((mode) => ({
      mode,
      file: join(directory, `${mode}.ndjson`),
      checkpoint: join(directory, `${mode}.checkpoint`),
    }));
    const run = async () => {
      for (const { mode, file, checkpoint } of files) {
        const ran = await forward('--mode', mode, '--to', `file:${file}`, '--checkpoint', checkpoint);
        assert.equal(ran.code, 0, ran.error);
      }
    };
    const event = (n: number) =>
      sourceEvent({
        timestamp: new Date(Date.now() - 1000 * (n % 7)).toISOString(),
        flow_id: randomUUID(),
        extra: { n, text: 'a "quoted"\n{line}, ü \u2028' },
      });
    await tenant.record(Array.from({ length: 170 }, (_, n) => event(n)));
    await tenant.post(
      `{"message":{"action":2001,"timestamp":"2026-01-01T00:00:00Z","extra":{"huge":12345678901234567890.10}}}`,
    );
    await caughtUp();
    await run();
    await server.kill('SIGKILL');
    server = await startServer({ dataDir, env });
    tenant = tenant.with({ server });
    await tenant.record(Array.from({ length: 30 }, (_, n) => event(n)));
    await caughtUp();
    const expected = await eventually('all events', async () => {
      const texts = await allTexts();
      return texts.length >= 201 ? texts : undefined;
    });
    await run();
    // The event of `caughtUp` is years old, beyond any overlap: only the feed finds it.
    const isLate = (line: string) => line.includes('"time":1714979289123456');
    for (const { mode, file } of files) {
      const lines = (await linesOf(file)).map(eventIdentity);
      const wanted = (line: string) => mode === 'feed' || !isLate(line);
      assert.equal(lines.filter(wanted).length, expected.filter(wanted).length, mode);
      assert.deepEqual(lines.filter(wanted).sort(), expected.filter(wanted));
      assert.ok(lines.some((line) => line.includes('12345678901234567890.10')));
    }
  });
});

describe('the client against the service', () => {
  test('stores each event once over restarts, reads it by page and feed, and reports refused ones', async () => {
    const refused: (string | undefined)[] = [];
    const client = createClient({
      url: server.url,
      apiKey: tenant.key,
      batch: { events: 20 },
      writeRetry: { delayMsMin: 50, delayMsMax: 300 },
      onRejected: (rejections) => refused.push(...rejections.map(({ error }) => error)),
    });
    const flows = Array.from({ length: 400 }, () => randomUUID());
    const restarting = (async () => {
      await sleep(50);
      await server.kill('SIGKILL');
      server = await startServer({ dataDir, env });
      tenant = tenant.with({ server });
    })();
    for (const flow_id of flows) {
      client.record({
        time: new Date().toISOString(),
        message: { action: 2001, actor: 'by@client.example', flow_id },
      });
      await sleep(1);
    }
    client.record({ time: 'yesterday', message: { action: 1 } });
    await restarting;
    const report = await client.flush({ timeoutMs: patience(30_000) });
    assert.deepEqual([report.acknowledged, report.rejected, report.pending], [400, 1, 0]);
    assert.match(refused[0] ?? '', /\/time/);
    await caughtUp();
    const read: string[] = [];
    for await (const event of client.events({ actor: 'by@client.example', pageSize: 150 }))
      read.push(event.flow_id ?? '');
    assert.deepEqual(read.sort(), flows.toSorted());
    const fed: string[] = [];
    for await (const page of client.feed({ follow: false, actor: 'BY@client.example', limit: 100 }))
      fed.push(...page.events.map((event) => event.flow_id ?? ''));
    assert.deepEqual(fed.sort(), flows.toSorted());
    assert.equal((await client.close()).complete, true);
  });
});
