import { strict as assert } from 'node:assert';
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  type CliAnswer,
  createTenant,
  runCli,
  runCliHere,
  type SharedServer,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { freePort } from '../support/plain-engine.ts';
import { sharedServer } from '../support/shared.ts';

/** `auditlog import` (contract: Command line) as a process of its own. */

const range = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };

const line = (name: string, n: number, org = 'bulk') =>
  JSON.stringify(sourceEvent({ sender: { file: name }, extra: { n }, org }));
const linesOf = (name: string, count: number, org = 'bulk') =>
  Array.from({ length: count }, (_, n) => `${line(name, n, org)}\n`).join('');

interface Summary {
  readonly lines: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly accepted_now: number;
  readonly rejected_now: number;
  readonly rejected_file: string | null;
}

function summary(answer: CliAnswer): Summary {
  assert.equal(answer.code, 0, answer.stderr);
  return JSON.parse(answer.stdout) as Summary;
}

const rejectedOf = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as { line: number; error: string; text?: string });

/** The sorted numbers in the events of a file name; each event must be there once. */
async function numbers(tenant: Tenant, name: string): Promise<number[]> {
  const query = new URLSearchParams({ ...range, fileName: name });
  const answer = await call(`${tenant.server.url}/api/v1/audit/export?${query.toString()}`, {
    headers: { 'x-api-key': tenant.key },
  });
  assert.equal(answer.status, 200);
  const found = answer.text.split('\n').slice(0, -1);
  return found
    .map((text) => (JSON.parse(text) as { extra_map: { n: number } }).extra_map.n)
    .sort((a, b) => a - b);
}

async function holdsEach(tenant: Tenant, name: string, count: number): Promise<void> {
  await eventually(`${count} events of ${name}`, async () =>
    (await tenant.page({ ...range, fileName: name })).meta.total >= count ? true : undefined,
  );
  await tenant.caughtUp();
  assert.deepEqual(
    await numbers(tenant, name),
    Array.from({ length: count }, (_, n) => n),
  );
}

describe('import beside a server', () => {
  let server: SharedServer;
  let tenant: Tenant;
  let files: string;
  before(async () => {
    server = await sharedServer();
    tenant = await createTenant(server, 'bulk');
    files = join(server.dataDir, 'files');
    await mkdir(files);
  });

  const place = async (name: string, content: string | Uint8Array) => {
    const path = join(files, name);
    await writeFile(path, content);
    return path;
  };

  test('without a key it uses the data directory; rejected lines are listed by number, rule and text', async () => {
    const bad = ['{"message":{"action":2001}}', 'not json', line('mixed', 0, 'nobody')];
    const text = `\ufeff${line('mixed', 0)}\r\n\n${bad[0]}\n  \t\n${line('mixed', 1)}\n${bad[1]}\n${bad[2]}\n${line('mixed', 2)}`;
    const path = await place('mixed.ndjson', text);
    const found = summary(await server.cliHere(['import', path, '--json']));
    const rejected_file = `${path}.rejected.ndjson`;
    assert.deepEqual(
      [found.lines, found.accepted, found.rejected, found.rejected_file],
      [8, 3, 3, rejected_file],
    );
    const rejected = rejectedOf(rejected_file);
    assert.deepEqual(
      rejected.map((one) => [one.line, one.text]),
      [
        [3, bad[0]],
        [6, bad[1]],
        [7, bad[2]],
      ],
    );
    assert.match(rejected[0]?.error ?? '', /timestamp/);
    await holdsEach(tenant, 'mixed', 3);
    // Its own key is private.
    assert.equal((await stat(join(server.dataDir, 'import-key'))).mode & 0o777, 0o600);

    const again = await server.cliHere(['import', path]);
    assert.match(again.stderr, /0 events imported \(3 with earlier runs\)/);
    const anew = summary(await server.cliHere(['import', path, '--restart', '--json']));
    assert.deepEqual([anew.accepted_now, anew.rejected_now], [3, 3]);
    await holdsEach(tenant, 'mixed', 3);
    assert.equal(rejectedOf(rejected_file).length, 3);
  });

  test('every rejected line of many is listed', async () => {
    const text = Array.from({ length: 3000 }, (_, n) =>
      n % 3 === 0 ? `bad ${n}` : line('many-bad', n),
    ).join('\n');
    const path = await place('many-bad.ndjson', text);
    const found = summary(await server.cliHere(['import', path, '--json']));
    assert.deepEqual([found.accepted, found.rejected], [2000, 1000]);
    assert.deepEqual(
      rejectedOf(`${path}.rejected.ndjson`).map((one) => [one.line, one.text]),
      Array.from({ length: 1000 }, (_, n) => [n * 3 + 1, `bad ${n * 3}`]),
    );
    // Only bad lines: a failure, with a report.
    const none = await server.cliHere(['import', await place('none.ndjson', 'x\ny\n'), '--json']);
    const { accepted, rejected } = JSON.parse(none.stdout) as Summary;
    assert.deepEqual([none.code, accepted, rejected], [1, 0, 2]);
    assert.match(none.stderr, /every line was rejected/);
    const timeless = `${JSON.stringify({ message: { action: 1, timestamp: '2024-05-01T00:00:00' } })}\n`;
    const long = await server.cliHere([
      'import',
      await place('long.ndjson', timeless.repeat(10_000)),
      '--json',
    ]);
    assert.equal((JSON.parse(long.stdout) as Summary).rejected, 10_000);
    const empty = summary(await server.cliHere(['import', await place('empty.ndjson', ''), '--json']));
    assert.deepEqual([empty.lines, empty.accepted, empty.rejected_file], [0, 0, null]);
  });

  test('a file that has grown continues at its old end; another file with its name is refused', async () => {
    const path = await place('grown.ndjson', linesOf('grown', 10));
    assert.equal(summary(await server.cliHere(['import', path, '--json'])).accepted, 10);
    await appendFile(path, `${line('grown', 10)}\nbad\n`);
    const second = await server.cliHere(['import', path]);
    assert.match(second.stderr, /\n1 event imported \(11 with earlier runs\).*\n1 line was rejected, see /);
    const grown = summary(await server.cliHere(['import', path, '--json']));
    assert.deepEqual([grown.accepted, grown.accepted_now, grown.rejected], [11, 0, 1]);
    assert.equal(rejectedOf(`${path}.rejected.ndjson`)[0]?.line, 12);
    await holdsEach(tenant, 'grown', 11);
    await place('grown.ndjson', linesOf('other', 10));
    const refused = await server.cliHere(['import', path]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /belongs to another file/);
  });

  test('a last line that is still being written is looked at again, and stored once it is whole', async () => {
    const whole = linesOf('written', 3);
    const path = await place('written.ndjson', whole.slice(0, -20));
    const first = summary(await server.cliHere(['import', path, '--json']));
    assert.deepEqual([first.accepted, first.rejected], [2, 1]);
    assert.deepEqual(
      rejectedOf(`${path}.rejected.ndjson`).map((one) => one.line),
      [3],
    );
    await place('written.ndjson', `${whole}bad`);
    for (const now of [1, 0]) {
      const next = summary(await server.cliHere(['import', path, '--json']));
      assert.deepEqual([next.lines, next.accepted, next.accepted_now, next.rejected], [4, 3, now, 1]);
      assert.deepEqual(
        rejectedOf(`${path}.rejected.ndjson`).map((one) => [one.line, one.text]),
        [[4, 'bad']],
      );
    }
    await holdsEach(tenant, 'written', 3);
  });

  test('another target begins anew beside the first, and each continues', async () => {
    const second = await createTenant(server, 'bulk-two');
    const path = await place(
      'targets.ndjson',
      `bad\n${linesOf('targets', 4).replaceAll(',"org":"bulk"', '')}`,
    );
    const run = (...args: string[]) => server.cliHere(['import', path, '--json', ...args]);
    const now = async (...args: string[]) => {
      const { accepted_now, rejected_now } = summary(await run(...args));
      return [accepted_now, rejected_now];
    };
    assert.deepEqual(await now('--org', 'bulk'), [4, 1]);
    const other = await run('--org', 'bulk-two');
    assert.match(other.stderr, /Starting anew for .*; an earlier run went to the data directory/);
    const { accepted_now, rejected_file } = summary(other);
    assert.equal(accepted_now, 4);
    // A damaged checkpoint ends a run that resumes.
    await writeFile(
      (rejected_file ?? '').replace('.rejected-', '.import-').replace(/\.ndjson$/, '.json'),
      'x',
    );
    assert.match((await run('--org', 'bulk-two')).stderr, /is not a checkpoint of this version/);
    assert.deepEqual(await now('--org', 'bulk-two', '--restart'), [4, 1]);
    assert.match(rejected_file ?? '', /targets\.ndjson\.rejected-[0-9a-f]{8}\.ndjson$/);
    for (const org of ['bulk', 'bulk-two']) assert.deepEqual(await now('--org', org), [0, 0], org);
    assert.match((await run('--org', 'bulk')).stderr, /Continuing after line 5 .*--restart/);
    const named = await run('--org', 'bulk-two', '--checkpoint', `${path}.import.json`);
    assert.equal(named.code, 1);
    assert.match(named.stderr, /belongs to another target, .*--checkpoint.*--restart/);
    const env = { AUDITLOG_API_KEY: second.key };
    const keyed = await runCliHere(['import', path, '--url', server.url, '--json'], { dataDir: files, env });
    assert.equal(summary(keyed).accepted_now, 4);
    await holdsEach(tenant, 'targets', 4);
  });

  test('another mapping begins anew where nothing was recorded, and is refused where something was', async () => {
    const path = await place('logs.ndjson', '{"time":1717236000123,"action":1001}\n{"action":1001}\n');
    const outcome = '"outcome":{"of":["result"],"success":["ok"],"absent":"success"}';
    const map = await place('own.map.json', `{"name":"own","time":"wrong","action":"action",${outcome}}`);
    const run = (...args: string[]) => server.cliHere(['import', path, '--org', 'bulk', '--json', ...args]);
    const dryRun = (...args: string[]) => server.cliHere(['import', path, '--dry-run', ...args]);
    const dry = await dryRun('--map', map);
    assert.deepEqual([dry.code, dry.stdout], [1, '']);
    assert.match(dry.stderr, /line 2 .*\(as mapped from own\)\nauditlog: every line would be rejected\n?$/);
    assert.equal((await dryRun('--from', 'json')).code, 0, 'one of them is good');
    assert.equal((await run()).code, 1);
    const wrong = await run('--map', map);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /Starting anew: with the mapping of the last run \(none\) no line/);
    await place('own.map.json', `{"name":"own","time":"micros(time)","action":"action",${outcome}}`);
    assert.equal(summary(await run('--map', map)).accepted_now, 1);
    await place('own.map.json', `{ "name": "own", "time": "micros(time)", "action": "action", ${outcome} }`);
    assert.equal(summary(await run('--map', map)).accepted_now, 0, 'the same mapping');
    const refused = await run('--from', 'json');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /another mapping may have recorded events .*--restart/);
    assert.equal(summary(await run('--from', 'json', '--restart')).accepted_now, 1);
    const [late] = rejectedOf(`${path}.rejected.ndjson`);
    assert.match(late?.error ?? '', /^\/message\/timestamp: .* \(as mapped from json\)$/);
  });

  test('a key comes from the environment or a file, a server by its address', async () => {
    const path = await place('keyed.ndjson', linesOf('keyed', 5));
    const keyFile = await place('key', `${tenant.key}\n`);
    const elsewhere = await temporaryDirectory();
    const run = (args: string[], env: Record<string, string> = {}) =>
      runCliHere(['import', path, ...args], { dataDir: elsewhere, env });
    try {
      assert.equal((await run(['--url', server.url])).code, 2, 'a key is needed');
      assert.equal((await run(['--url', 'ftp://x'], { AUDITLOG_API_KEY: tenant.key })).code, 2);
      assert.equal((await run(['--org', 'bulk'], { AUDITLOG_API_KEY: tenant.key })).code, 2);
      assert.equal((await run(['--limit', '3'])).code, 2);
      const wrong = await run(['--url', server.url], { AUDITLOG_API_KEY: 'ak_wrong' });
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /the API key is not accepted/);
      assert.equal(wrong.stderr.includes('ak_wrong'), false);
      const nobody = await run([], { AUDITLOG_API_KEY: tenant.key, PORT: '1' });
      assert.equal(nobody.code, 1);
      assert.match(nobody.stderr, /no server answers at http:\/\/127\.0\.0\.1:1: start it/);
      await rm(`${path}.import.json`);
      assert.equal((await run(['--url', `${server.url}/`, '--key-file', keyFile])).code, 0);
      const byPort = await run(['--restart'], { AUDITLOG_API_KEY: tenant.key, PORT: String(server.port) });
      assert.equal(byPort.code, 0, byPort.stderr);
    } finally {
      await removeDirectory(elsewhere);
    }
    await holdsEach(tenant, 'keyed', 5);
    assert.equal((await server.cliHere(['import', join(files, 'missing.ndjson')])).code, 2);
  });
});

describe('import where the server makes it difficult', () => {
  let directory: string;
  /** A killed server, and commands without a server afterwards. */
  let dataDir: string;
  before(async () => {
    directory = await temporaryDirectory();
    dataDir = join(directory, 'data');
    await mkdir(dataDir);
  });
  after(() => removeDirectory(directory));

  /** An import of some thousand lines takes seconds on any machine. */
  const slowly = { RATE_LIMIT_INGEST: '3/1s', MAX_BODY_BYTES: '200000' };

  describe('by limits', () => {
    const count = 4_000;
    let env: Readonly<Record<string, string>>;
    let server: TestServer;
    let tenant: Tenant;
    before(async () => {
      // A restarted server has the address that the import uses.
      env = { ...slowly, PORT: String(await freePort()), HOST: '127.0.0.1' };
      server = await startServer({ dataDir, env });
      tenant = await createTenant(server, 'bulk');
    });
    after(() => server?.stop());

    test('it waits for a server that hangs for some seconds', async () => {
      const path = join(directory, 'still.ndjson');
      await writeFile(path, linesOf('still', 10));
      await server.kill('SIGSTOP');
      const imported = server.cliHere(['import', path, '--json']);
      await Promise.race([imported, sleep(6000)]);
      await server.kill('SIGCONT');
      assert.equal(summary(await imported).accepted, 10);
    });

    test('of rate and size, they are kept to', { timeout: patience(60_000) }, async () => {
      const path = join(directory, 'limited.ndjson');
      const large = JSON.stringify(sourceEvent({ extra: { pad: 'x'.repeat(300_000) }, org: 'bulk' }));
      await writeFile(path, `${linesOf('limited', count)}${large}\n`);
      const found = summary(await server.cliHere(['import', path, '--json']));
      assert.deepEqual([found.accepted, found.rejected], [count, 1]);
      assert.deepEqual(
        rejectedOf(`${path}.rejected.ndjson`).map(({ line: at, error }) => [at, error]),
        [[count + 1, 'is larger than the server accepts']],
      );
      assert.ok(
        server.stdoutLines().some((text) => text.includes('"status":429')),
        'the limit was never met',
      );
      await holdsEach(tenant, 'limited', count);
    });
  });

  test('no server: the command is one for as long as it takes, and the events can be read after it', async () => {
    const path = join(directory, 'alone.ndjson');
    await writeFile(path, linesOf('alone', 1000));
    const found = summary(await runCli(['import', path, '--json'], { dataDir }));
    assert.equal(found.accepted, 1000);
    for (const name of ['engine.json', 'server.json']) assert.equal(existsSync(join(dataDir, name)), false);
    // A repeat to a server that remembers stores nothing twice.
    assert.equal((await runCli(['import', path, '--restart', '--json'], { dataDir })).code, 0);
    const { stdout } = await runCliHere(['export', '--org', 'bulk', '--file-name', 'alone'], { dataDir });
    assert.equal(stdout.split('\n').length, 1000);
  });
});
