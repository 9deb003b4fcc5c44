import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStorage } from '../../src/storage/client.ts';
import { readEngineFile } from '../../src/storage/engine-file.ts';
import { createRecorder } from '../read/support.ts';
import { cliCommand } from '../support/cli-command.ts';
import { silentLog, startEngine } from '../support/engine.ts';
import { acceptedOf, call, eventually, type Page, pageOf } from '../support/http.ts';
import { columnsSince010, migrateAsRelease010 } from '../support/old-release.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createKey, startServer, type TestServer } from '../support/server.ts';
import { projectRoot } from '../support/project-root.ts';
import { withEngine } from './export-support.ts';

interface Verification {
  readonly covered: number;
  readonly findings: readonly object[];
  readonly notes: readonly string[];
}

/** A data directory of release 0.1.0: the first start of this one moves its events to other partitions. */
const org = randomUUID();
const months = 8;
const perMonth = 1_500;
const events = months * perMonth;
let dataDir: string;

before(async () => {
  dataDir = await temporaryDirectory();
  const engine = await startEngine(dataDir);
  const storage = openStorage(engine.connection, silentLog);
  await migrateAsRelease010(storage);
  await storage.insertRows('organizations', [
    { id: org, slug: 'acme', name: 'Acme', receipts: 'own', created_at: '2025-01-01 00:00:00', version: '1' },
  ]);
  let at = 0;
  const record = createRecorder(storage, { now: () => at, without: columnsSince010 });
  for (let month = 0; month < months; month += 1) {
    at = Date.UTC(2025, month, 20);
    const first = month * perMonth;
    await record(
      org,
      Array.from({ length: perMonth }, (_, n) => ({
        message: {
          action: 1001,
          timestamp: (at + n) * 1000,
          extra: { n: first + n, text: 'x'.repeat(n % 500) },
        },
      })),
    );
  }
  await storage.close();
  await engine.stop();
});
after(() => removeDirectory(dataDir));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts the service, and kills it as soon as it has moved so many events; resolves with how many it had moved. */
async function killWhenMoved(enough: number): Promise<number> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir, PORT: '0' };
  const child: ChildProcess = spawn(process.execPath, [...cliCommand, 'serve'], {
    cwd: projectRoot,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const running = await eventually('the engine', () => readEngineFile(dataDir), 40_000, 5);
  const storage = openStorage(running, silentLog);
  const moved = await eventually(
    'events to be moved',
    async () => {
      const [row] = await storage
        .rows<{ n: string }>('SELECT count() AS n FROM events_by_ingest')
        .catch(() => [{ n: '0' }]);
      return Number(row?.n) >= enough ? Number(row?.n) : undefined;
    },
    40_000,
    1,
  ).finally(() => child.kill('SIGKILL'));
  await ended;
  await storage.close();
  await eventually('the engine to follow', async () => (isAlive(running.pid) ? undefined : true));
  return moved;
}

test('an upgrade that is killed again and again ends with every event once, as it was', async () => {
  for (const enough of [1, events / 2]) assert.ok((await killWhenMoved(enough)) <= events);
  const server = await startServer({ dataDir });
  try {
    const { key } = await createKey(server, ['--org', 'acme', '--scopes', 'read,write']);
    const read = (query: string) =>
      call(`${server.url}/api/v1/audit${query}`, { headers: { 'x-api-key': key } });
    const page = pageOf(await read('?endTime=2025-12-31T00:00:00Z&limit=1000'));
    assert.equal(page.meta.total, events);
    assert.deepEqual(
      page.data.map((event) => event.extra_map?.['n']),
      Array.from({ length: 1000 }, (_, n) => events - 1 - n),
    );
    const exported = await read('/export?endTime=2025-12-31T00:00:00Z');
    const numbers = exported.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { extra_map: { n: number } }).extra_map.n);
    assert.deepEqual(
      numbers,
      Array.from({ length: events }, (_, n) => events - 1 - n),
    );
  } finally {
    assert.equal(await server.stop(), 0);
  }
});

/** Source events of an organization in the order of ingest, without those that commands recorded in this test. */
function sourcesOf(server: TestServer, slug: string): Promise<string[]> {
  return withEngine(server, async (storage) => {
    const rows = await storage.rows<{ source: string }>(
      `SELECT source FROM events WHERE org = (SELECT id FROM organizations FINAL WHERE slug = {slug:String} LIMIT 1)
         AND (time < '2026-10-01 00:00:00' OR time >= '2100-01-01 00:00:00') ORDER BY seq`,
      { slug },
    );
    return rows.map(({ source }) => source);
  });
}

test('a directory that release 0.1.0 has left, killed with events in its log, reads as it did', async () => {
  const parent = await temporaryDirectory();
  const archive = fileURLToPath(new URL('test/fixtures/release-0.1.0.tgz', projectRoot));
  assert.equal(spawnSync('tar', ['-xzf', archive, '-C', parent]).status, 0);
  const answers = JSON.parse(await readFile(join(parent, 'answers.json'), 'utf8')) as Record<string, string>;
  const server = await startServer({ dataDir: join(parent, 'data'), env: { EVIDENCE_INTERVAL: '200ms' } });
  try {
    const keyOf = async (slug: string): Promise<string> =>
      (await createKey(server, ['--org', slug, '--scopes', 'read,write'])).key;
    const [acme, globex] = [await keyOf('acme'), await keyOf('globex')];
    const holdAnswers = async (key: string): Promise<void> => {
      for (const [query, before] of Object.entries(answers)) {
        const text = (await read(key, query)).replaceAll(/"logged_time":\d+/g, '"logged_time":0');
        assert.equal(text.replace(/,"meta":\{"next_cursor".*$/, '}'), before, query);
      }
    };
    const read = async (key: string, query: string): Promise<string> => {
      const answer = await call(`${server.url}/api/v1/${query}`, { headers: { 'x-api-key': key } });
      assert.equal(answer.status, 200, answer.text);
      return answer.text;
    };
    assert.equal(Object.keys(answers).length, 10);
    await holdAnswers(acme);
    const count = async (query: string): Promise<number> =>
      (JSON.parse(await read(globex, `audit?limit=1&${query}`)) as Page).meta.total;
    await eventually('the events of the old log', async () => {
      const found = [
        await count('endTime=2026-10-01T00:00:00Z'),
        await count('startTime=2100-01-01T00:00:00Z'),
      ];
      return found[0] === 16 && found[1] === 8 ? true : undefined;
    });
    // What this release makes of the same source events is what that one made of them, to the byte.
    await server.cliHere(['org', 'create', '--slug', 'again', '--name', 'Again']);
    const again = await keyOf('again');
    const sources = await sourcesOf(server, 'acme');
    assert.ok(sources.length > 100, String(sources.length));
    const sent = { 'x-api-key': again, 'content-type': 'application/x-ndjson' };
    const answer = await call(`${server.url}/api/v1/audit`, {
      method: 'POST',
      headers: sent,
      body: sources.join('\n'),
    });
    assert.equal(acceptedOf(answer).accepted, sources.length);
    await eventually('the same events once more', async () => {
      const stored = await sourcesOf(server, 'again');
      if (stored.length < sources.length) return undefined;
      assert.deepEqual(stored, sources);
      return true;
    });
    // What went to the log before them may come into the table behind them: until then the feed waits.
    await eventually('the feed to have them', async () => {
      const { data } = JSON.parse(await read(again, 'audit/feed?limit=10000')) as Page;
      return data.length >= sources.length ? true : undefined;
    });
    await holdAnswers(again);
    // Each event of that release is shown as this one renders its source event.
    for (const slug of ['acme', 'globex'])
      await eventually('a tree of the old events, and nothing to find', async () => {
        const { stdout } = await server.cliHere(['verify', '--org', slug, '--json']);
        const { covered, findings, notes } = JSON.parse(stdout) as Verification;
        if (covered < (slug === 'acme' ? sources.length : 24)) return undefined;
        assert.deepEqual([findings, notes.filter((note) => note.includes('APP_NAME'))], [[], []]);
        return true;
      });
  } finally {
    await server.stop();
    await removeDirectory(parent);
  }
});
