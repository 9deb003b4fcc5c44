import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { runTools } from '../../src/tools/program.ts';
import { type Remote, remoteKey, reply, type Seen, startRemote } from '../client/remote.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/** Output and state of interrupted commands, and how the same command resumes. */

let remote: Remote;
let directory: string;
before(async () => {
  remote = await startRemote();
  directory = await temporaryDirectory();
});
after(async () => {
  await remote.close();
  await removeDirectory(directory);
});
beforeEach(() => {
  remote.fault = accept;
  remote.stored.length = 0;
});

/** Accepts the lines of a body, except those marked bad. */
function accept({ method, body }: Seen, response: ServerResponse): boolean {
  if (method !== 'POST') return false;
  const lines = body.split('\n').filter((line) => line !== '');
  const errors = lines.flatMap((line, index) => (line.includes('bad') ? [{ index, error: 'is bad' }] : []));
  remote.stored.push(...lines.filter((line) => !line.includes('bad')));
  return reply(response, 202, { accepted: lines.length - errors.length, rejected: errors.length, errors });
}

/** Runs a command; `asked` resolves when it should end. */
async function run(args: readonly string[], asked: Promise<void> = new Promise(() => undefined)) {
  const said = { out: '', error: '' };
  const code = await runTools([...args, '--url', remote.url], {
    environment: { AUDITLOG_API_KEY: remoteKey },
    io: {
      out: (text) => (said.out += text),
      error: (text) => (said.error += text),
      output: process.stdout,
      input: Readable.from([]),
    },
    untilStopped: () => asked,
  });
  return { code, ...said };
}

function ending(): { readonly asked: Promise<void>; readonly ask: () => void } {
  const stop = new AbortController();
  const asked = new Promise<void>((resolve) =>
    stop.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  return { asked, ask: () => stop.abort() };
}

test('import keeps its progress, reports it, and the same command resumes there', async () => {
  const file = join(directory, 'many.ndjson');
  const lines = Array.from({ length: 25_000 }, (_, n) => JSON.stringify({ time: n, message: { action: n } }));
  await writeFile(file, `${lines.join('\n')}\n`);
  const { asked, ask } = ending();
  let requests = 0;
  remote.fault = (seen, response) => {
    requests += 1;
    if (requests === 1) return accept(seen, response);
    // Never answered: only the command's end closes it.
    response.once('error', () => undefined);
    if (requests === 3) setTimeout(ask, 50);
    return true;
  };
  const stopped = await run(['import', file], asked);
  assert.equal(stopped.code, 1);
  assert.match(
    stopped.error,
    /^auditlog-tools: stopped: 10000 events of 10000 lines are imported; the same command continues after them\n$/m,
  );
  remote.fault = accept;
  const resumed = await run(['import', file, '--json']);
  assert.equal(resumed.code, 0, resumed.error);
  assert.match(resumed.error, /Continuing after line 10000 of an earlier run/);
  assert.deepEqual((JSON.parse(resumed.out) as { accepted_now: number }).accepted_now, 15_000);
  assert.equal(remote.stored.length, 25_000);
});

test('import names the server that does not answer, and its retries', async () => {
  const file = join(directory, 'one.ndjson');
  await writeFile(file, '{"time":1,"message":{"action":1}}\n');
  let failures = 2;
  remote.fault = (seen, response) => {
    if (failures-- <= 0) return accept(seen, response);
    response.destroy();
    return true;
  };
  const { code, error } = await run(['import', file]);
  assert.equal(code, 0, error);
  const { host } = new URL(remote.url);
  assert.ok(error.includes(`no answer from ${host}: UND_ERR_SOCKET; retrying for up to 600 s`), error);
  assert.match(error, /works again after [\d.]+ s/);
});

test('import --strict ends with 1 where a line was rejected, now or in an earlier run', async () => {
  const file = join(directory, 'strict.ndjson');
  await writeFile(file, '{"time":1,"message":{"action":1}}\n{"msg":"bad","time":1,"message":{"action":1}}\n');
  assert.equal((await run(['import', file])).code, 0);
  for (const more of [[], ['--restart']]) {
    const strict = await run(['import', file, '--strict', ...more]);
    assert.equal(strict.code, 1);
    assert.match(strict.error, /1 line rejected, and --strict allows none/);
  }
});

test('export of a server keeps nothing, and reports that', async () => {
  const { asked, ask } = ending();
  remote.fault = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'x-total-count': '2' });
    response.write('{"time":1}\n');
    setTimeout(ask, 50);
    return true;
  };
  const file = join(directory, 'out.ndjson');
  const { code, error } = await run(['export', '--output', file], asked);
  assert.deepEqual(
    [code, error],
    [1, 'auditlog-tools: stopped: nothing is kept; the same command starts anew\n'],
  );
  assert.equal(existsSync(file), false);
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.includes('out.')),
    [],
  );
});

test('forward names the address and the cause, and ends at a port that fetch never connects to', async () => {
  const { asked, ask } = ending();
  setTimeout(ask, 1_000);
  remote.events.push({ time: 1 });
  remote.fault = undefined;
  const free = await startRemote();
  await free.close();
  const closed = await run(['forward', '--to', free.url], asked);
  const { host } = new URL(free.url);
  const lines = closed.error.split('\n').filter((line) => line.includes('destination:'));
  assert.equal(lines.length, 1, 'the same failure is logged once in a while');
  assert.ok(
    lines[0]?.includes(`destination: no answer from ${host}: ECONNREFUSED; retrying until it works`),
    closed.error,
  );
  const syslog = await run(['forward', '--to', `syslog+tcp://${host}`], Promise.resolve());
  assert.equal(syslog.code, 0);
  const blocked = await run(['forward', '--to', 'http://127.0.0.1:6000']);
  assert.equal(blocked.code, 1);
  assert.match(blocked.error, /no request to 127\.0\.0\.1:6000: fetch blocks this port/);
});
