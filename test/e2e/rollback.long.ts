import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { buildEarlier, buildLater } from '../support/earlier-build.ts';
import { acceptedOf, call, eventually, pageOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createKey, sourceEvent, startServer } from '../support/server.ts';

/**
 * A later release on a data directory, and the one before it again, each killed with events in its log. The one before is
 * what UPGRADE_FROM=<commit> was, else the last commit; the later one is this project with a migration more.
 */
const added = `-- Works from: 0018
ALTER TABLE {{sharded events}} {{on_cluster}} ADD COLUMN IF NOT EXISTS of_later UInt8 DEFAULT 7;
ALTER TABLE organizations {{on_cluster}} ADD COLUMN IF NOT EXISTS of_later String;
`;
const altered = `-- Works from: 9001
ALTER TABLE {{sharded events}} {{on_cluster}} DROP COLUMN IF EXISTS of_later;
`;
const env = { FLUSH_INTERVAL: '1s' };
let earlier: ReturnType<typeof buildEarlier>;
let later: ReturnType<typeof buildLater>;
let latest: ReturnType<typeof buildLater>;
let dataDir: string;

before(async () => {
  earlier = buildEarlier(process.env['UPGRADE_FROM'] ?? 'HEAD');
  later = buildLater({ '9001_added.sql': added });
  latest = buildLater({ '9001_added.sql': added, '9002_altered.sql': altered });
  dataDir = await temporaryDirectory();
});
after(async () => {
  for (const build of [earlier, later, latest]) build?.remove();
  await removeDirectory(dataDir);
});

const start = ({ cli }: { readonly cli: string }) =>
  startServer({ dataDir, env, launcher: ['sh', '-c', `exec "${process.execPath}" "${cli}" serve`] });

function run({ cli }: { readonly cli: string }, ...args: string[]) {
  const environment = { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', ...env };
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    env: environment,
    encoding: 'utf8',
    timeout: 120_000,
  });
  return { status, stdout, stderr };
}

/** Requests of 50 events, which are answered and may still be in the log. */
class Producer {
  key = '';
  sent = 0;

  async record(url: string, idempotencyKey: string): Promise<void> {
    assert.equal(await this.#send(url, idempotencyKey), 50);
    this.sent += 50;
  }

  /** As `record` of a request that was answered before: nothing is stored. */
  async repeat(url: string, idempotencyKey: string): Promise<void> {
    assert.equal(await this.#send(url, idempotencyKey), 50);
  }

  async #send(url: string, idempotencyKey: string): Promise<number> {
    const events = Array.from({ length: 50 }, (_, n) =>
      sourceEvent({ timestamp: '2024-05-01T00:00:00Z', extra: { n, of: idempotencyKey } }),
    );
    const headers = {
      'x-api-key': this.key,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    };
    const answer = await call(`${url}/api/v1/audit`, {
      method: 'POST',
      headers,
      body: JSON.stringify(events),
    });
    return acceptedOf(answer).accepted;
  }

  /** Every event that was answered is there, once. */
  async settled(url: string): Promise<void> {
    const query = 'endTime=2024-12-31T00:00:00Z';
    const headers = { 'x-api-key': this.key };
    await eventually(`${this.sent} events to be there`, async () => {
      const page = await call(`${url}/api/v1/audit?limit=1&${query}`, { headers });
      return pageOf(page).meta.total >= this.sent || undefined;
    });
    const { text } = await call(`${url}/api/v1/audit/export?${query}`, { headers });
    const seen = text
      .trim()
      .split('\n')
      .map((line) => JSON.stringify((JSON.parse(line) as { extra_map: object }).extra_map));
    assert.deepEqual([seen.length, new Set(seen).size], [this.sent, this.sent]);
  }
}

const laterLines = (lines: readonly string[]) =>
  lines.filter((line) => line.includes('the tables are of a later release'));

test('a release goes on where a later one has stored events, and that one after it, to the last event', async () => {
  const producer = new Producer();
  let server = await start(earlier);
  await server.cli(['org', 'create', '--slug', 'acme', '--name', 'Acme']);
  producer.key = (await createKey(server, ['--org', 'acme', '--scopes', 'read,write'])).key;
  await producer.record(server.url, 'first');
  await producer.settled(server.url);
  for (const [n, build] of [later, earlier, later, earlier].entries()) {
    // What one has in its log the next one stores.
    await producer.record(server.url, `left ${n}`);
    await server.kill('SIGKILL');
    server = await start(build);
    assert.equal(laterLines(server.stderrLines()).length, build === earlier ? 1 : 0);
    await producer.repeat(server.url, `left ${n}`);
    await producer.record(server.url, `stored ${n}`);
    await producer.settled(server.url);
    if (build === later) await server.cli(['org', 'set', 'acme', '--name', `Acme ${n}`]);
  }
  assert.equal(await server.stop(), 0);
  const doctor = run(earlier, 'doctor', '--quick', '--json');
  assert.match(doctor.stdout, /"migrations up to 9001, of which this release knows those up to \d{4}/);
  assert.match(
    run(earlier, 'version').stdout,
    /^auditlog \d\S+: tables up to migration \d{4}, log up to format \d\n$/,
  );
});

test('what a later release has altered too far is refused by the one before, in one line, and left alone', async () => {
  const server = await start(latest);
  assert.equal(await server.stop(), 0);
  const refused = run(earlier, 'serve');
  assert.equal(refused.status, 1);
  const lines = refused.stderr.split('\n').filter((line) => line.startsWith('auditlog: '));
  assert.equal(lines.length, 1, refused.stderr);
  assert.match(
    lines[0] ?? '',
    /of a later release: migration 9002_altered\.sql .* Start the later release again/,
  );
  const doctor = run(earlier, 'doctor', '--quick', '--json');
  assert.equal(doctor.status, 1);
  const { checks } = JSON.parse(doctor.stdout) as {
    checks: { name: string; findings: { remedy: string }[] }[];
  };
  const found = checks.find(({ name }) => name === 'tables');
  assert.match(String(found?.findings[0]?.remedy), /start the release that this database is of/);
  const again = await start(later);
  assert.equal(laterLines(again.stderrLines()).length, 1);
  assert.equal(await again.stop(), 0);
});
