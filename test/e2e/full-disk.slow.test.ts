import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { cliCommand } from '../support/cli-command.ts';
import { call, eventually, pageOf, problemOf, retryAfterOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { projectRoot } from '../support/project-root.ts';
import { createTenant, sourceEvent, startServer } from '../support/server.ts';

/** Where a user may have mounts of its own, the test needs no rights for a small disk. */
const mayMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;

/**
 * Puts a copy of a directory on a small disk, fills that up, and becomes the server. What the server and its engine
 * remove is filled again, until the file `room` is there.
 */
const onFullDisk = (source: string, target: string): readonly string[] => [
  'unshare',
  '-Urm',
  'sh',
  '-ec',
  `mount -t tmpfs -o size=1g tmpfs "$2"; cp -a "$1/." "$2"
   fill() { cat /dev/zero >> "$1/filler" || true; }
   fill "$2" 2> /dev/null
   (while [ -d /proc/$$ ] && [ ! -e "$2/room" ]; do fill "$2"; sleep 0.02; done; rm "$2/filler") > /dev/null 2>&1 &
   shift 2; exec "$@"`,
  'sh',
  source,
  target,
];

test('on a full disk the server starts, reads are answered, writes are 503 until there is room', {
  skip: mayMount ? false : 'NOT TESTED: no mounts of its own for this user, so no full disk',
}, async () => {
  const [source, target] = [await temporaryDirectory(), await temporaryDirectory()];
  const before = await startServer({ dataDir: source });
  const tenant = await createTenant(before, 'full');
  await tenant.record([sourceEvent(), sourceEvent()]);
  const { meta } = await tenant.settled(2);
  assert.equal(await before.stop(), 0);
  const [launcher = '', ...inside] = onFullDisk(source, target);
  const args = [...inside, process.execPath, ...cliCommand, 'doctor'];
  const env = { PATH: process.env['PATH'], DATA_DIR: target };
  const doctor = spawnSync(launcher, args, { cwd: projectRoot, env, encoding: 'utf8' });
  assert.match(doctor.stdout, /LOOK AT +disk_space\n(?:.*\n)*ok +synced_writes/, doctor.stderr);
  const server = await startServer({ dataDir: target, launcher: onFullDisk(source, target) });
  try {
    const after = tenant.with({ server });
    assert.equal(pageOf(await after.get()).meta.total, meta.total);
    const feed = await call(`${server.url}/api/v1/audit/feed`, { headers: { 'x-api-key': tenant.key } });
    assert.equal((JSON.parse(feed.text) as { data: unknown[] }).data.length, meta.total);
    // Larger than what is left of a block, where an event would fit without asking the disk for more.
    const event = sourceEvent({ extra: { pad: 'x'.repeat(50_000) } });
    let taken = 0;
    const refused = await eventually('a write to be refused', async () => {
      const answer = await after.post([event]);
      taken += answer.status === 202 ? 1 : 0;
      return answer.status === 202 ? undefined : answer;
    });
    problemOf(refused, 503);
    assert.ok(retryAfterOf(refused) > 0);
    const ready = await call(`${server.url}/readyz`);
    problemOf(ready, 503);
    assert.equal(
      (JSON.parse(ready.text) as { checks: { log_takes_writes: unknown } }).checks.log_takes_writes,
      false,
    );
    assert.ok(server.stderrLines().some((line) => /disk is full: the write-ahead log/.test(line)));
    // By way of the process, as the disk is in no other's sight.
    await writeFile(`/proc/${server.pid}/root${target}/room`, '');
    await eventually('writes to be taken again', async () =>
      (await after.post([event])).status === 202 ? true : undefined,
    );
    await eventually('the server to be ready', async () =>
      (await call(`${server.url}/readyz`)).status === 200 ? true : undefined,
    );
    await after.settled(3 + taken);
    assert.equal(await server.stop(), 0);
  } finally {
    await server.stop();
    await Promise.all([source, target].map(removeDirectory));
  }
});
