import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cliCommand } from '../support/cli-command.ts';
import { call, eventually, pageOf, problemOf, retryAfterOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { projectRoot } from '../support/project-root.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { createUser, login, password } from './session-support.ts';

/** Where a user may have mounts of its own, the test needs no rights for a small disk. */
const mayMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;

/**
 * Puts a copy of a directory on a small disk, fills that up, and becomes the program. The file `leave` in the
 * first one says how many MiB stay free: what the program and its engine remove is filled again, and room is made where there is too little.
 */
const onSmallDisk = (source: string, target: string, leaveMiB: number): readonly string[] => [
  'unshare',
  '-Urm',
  'sh',
  '-ec',
  `mount -t tmpfs -o size=1g tmpfs "$2"; cp -a "$1/." "$2"; echo "$3" > "$1/leave"; touch "$2/filler"
   fill() {
     more=$(($(df -k --output=avail "$1" | tail -n 1) - $(cat "$2/leave") * 1024))
     if [ $more -gt 0 ]; then head -c "$more"K /dev/zero >> "$1/filler" || true; fi
     if [ $more -lt -4096 ]; then truncate -s "$more"K "$1/filler"; fi
   }
   fill "$2" "$1" 2> /dev/null
   (while [ -d /proc/$$ ]; do fill "$2" "$1"; sleep 0.02; done) > /dev/null 2>&1 &
   shift 3; exec "$@"`,
  'sh',
  source,
  target,
  String(leaveMiB),
];

/** What a command says on a full disk. */
function onFullDisk(source: string, target: string, ...args: string[]): string {
  const [launcher = '', ...inside] = onSmallDisk(source, target, 0);
  const env = { PATH: process.env['PATH'], DATA_DIR: target };
  const command = [...inside, process.execPath, ...cliCommand, ...args];
  const { stdout, stderr } = spawnSync(launcher, command, { cwd: projectRoot, env, encoding: 'utf8' });
  return stdout + stderr;
}

interface Disk {
  readonly server: TestServer;
  readonly tenant: Tenant;
  leave(mebibytes: number): Promise<void>;
}

const checksOf = async ({ server }: Disk) =>
  (JSON.parse((await call(`${server.url}/readyz`)).text) as { checks: Record<string, boolean> }).checks;

/** All ways of reading go on, whatever the disk takes. */
async function requireReads({ server, tenant }: Disk, events: number): Promise<void> {
  const of = async (path: string): Promise<string> => {
    const answer = await call(`${server.url}/api/v1/audit/${path}`, { headers: { 'x-api-key': tenant.key } });
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.text;
  };
  assert.ok(pageOf(await tenant.get()).meta.total >= events);
  for (let again = 0; again < 3; again++)
    assert.ok((JSON.parse(await of('feed?limit=1000')) as { data: unknown[] }).data.length >= events);
  await of('evidence/checkpoint');
}

/** Producers are refused by the end of this; how many events were taken before. */
async function untilRefused({ tenant }: Disk, event: object): Promise<number> {
  let taken = 0;
  const refused = await eventually('a write to be refused', async () => {
    const answer = await tenant.post([event]);
    taken += answer.status === 202 ? 1 : 0;
    return answer.status === 202 ? undefined : answer;
  });
  problemOf(refused, 503);
  assert.ok(retryAfterOf(refused) > 0);
  return taken;
}

test('on a full disk reads go on, producers are refused first, and commands name the disk', {
  skip: mayMount ? false : 'NOT TESTED: no mounts of its own for this user, so no full disk',
}, async () => {
  const [source, target] = [await temporaryDirectory(), await temporaryDirectory()];
  const before = await startServer({ dataDir: source });
  const tenant = await createTenant(before, 'full');
  await tenant.record([sourceEvent(), sourceEvent()]);
  const { meta } = await tenant.settled(2);
  const who = { server: before, organization: 'full', role: 'admin', email: 'ada@full.test' } as const;
  await createUser(who.server, who.organization, who.role, who.email);
  assert.equal(await before.stop(), 0);
  assert.match(onFullDisk(source, target, 'doctor'), /LOOK AT +disk_space\n(?:.*\n)*ok +synced_writes/);
  const named = `the disk of DATA_DIR ${target} is full: free some space on it`;
  for (const args of [
    ['org', 'create', '--slug', 'none', '--name', 'None'],
    ['key', 'create', '--org', 'full', '--scopes', 'read'],
  ])
    assert.ok(onFullDisk(source, target, ...args).includes(named));
  const server = await startServer({ dataDir: target, launcher: onSmallDisk(source, target, 300) });
  const disk: Disk = {
    server,
    tenant: tenant.with({ server }),
    async leave(mebibytes) {
      await writeFile(join(source, 'leave.new'), String(mebibytes));
      await rename(join(source, 'leave.new'), join(source, 'leave'));
    },
  };
  const exported = () =>
    call(`${server.url}/api/v1/audit/export?format=ndjson`, { headers: { 'x-api-key': tenant.key } });
  const signedIn = () => login(server, { email: who.email, password });
  try {
    // Larger than what is left of a block, where an event would fit without asking the disk for more.
    const event = sourceEvent({ extra: { pad: 'x'.repeat(50_000) } });
    let taken = await untilRefused(disk, event);
    assert.equal((await checksOf(disk))['log_takes_writes'], false);
    assert.ok(server.stderrLines().some((line) => /disk is almost full: the write-ahead log/.test(line)));
    assert.equal((await exported()).status, 200);
    assert.equal((await signedIn()).status, 200);
    await requireReads(disk, meta.total);
    await disk.leave(0);
    await eventually('the service to have no room for its own events', async () =>
      (await exported()).status === 503 ? true : undefined,
    );
    problemOf(await exported(), 503);
    problemOf(await signedIn(), 503);
    taken += await untilRefused(disk, event);
    await requireReads(disk, meta.total);
    problemOf(await call(`${server.url}/readyz`), 503);
    await disk.leave(700);
    await eventually('writes to be taken again', async () =>
      (await disk.tenant.post([event])).status === 202 ? true : undefined,
    );
    await eventually('the server to be ready', async () =>
      (await call(`${server.url}/readyz`)).status === 200 ? true : undefined,
    );
    assert.equal((await exported()).status, 200);
    await eventually('all to be readable', async () =>
      pageOf(await disk.tenant.get()).meta.total >= meta.total + 1 + taken ? true : undefined,
    );
    assert.equal(await server.stop(), 0);
  } finally {
    await server.stop();
    await Promise.all([source, target].map(removeDirectory));
  }
});
