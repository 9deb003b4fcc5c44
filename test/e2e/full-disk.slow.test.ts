import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliCommand } from '../support/cli-command.ts';
import { call, eventually, pageOf, problemOf, retryAfterOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { projectRoot } from '../support/project-root.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { createUser, login, password } from './session-support.ts';

/** With user namespaces the test needs no rights for a small disk. */
const mayMount = spawnSync('unshare', ['-Urm', 'true']).status === 0;

/** A disk in memory over `target`, in its own mounts, with a fixed number of free MiB. */
class SmallDisk {
  readonly #holder: ChildProcess;
  readonly #control: string;
  readonly #target: string;

  private constructor(holder: ChildProcess, control: string, target: string) {
    this.#holder = holder;
    this.#control = control;
    this.#target = target;
  }

  /** Has a copy of `source`, and a file `leave`. */
  static async mountAt(target: string, source: string, leaveMiB: number): Promise<SmallDisk> {
    const script = `mount -t tmpfs -o size=2g tmpfs "$2"; cp -a "$1/." "$2"; echo
      while true; do
        used=$(df -k --output=used "$2" | tail -n 1)
        mount -o "remount,size=$((used + $(cat "$1/leave" 2> /dev/null) * 1024))k" "$2" 2> /dev/null || true
        sleep 0.01
      done`;
    await writeFile(join(source, 'leave'), String(leaveMiB));
    const holder = spawn('unshare', ['-Urm', 'sh', '-ec', script, 'sh', source, target], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    return new SmallDisk(holder, source, target);
  }

  /** Runs a program on it. */
  get launcher(): readonly string[] {
    return ['nsenter', '-t', String(this.#holder.pid), '-U', '-m', '--preserve-credentials'];
  }

  async leave(mebibytes: number): Promise<void> {
    await writeFile(join(this.#control, 'leave.new'), String(mebibytes));
    await rename(join(this.#control, 'leave.new'), join(this.#control, 'leave'));
  }

  /** Output of a command on it. */
  cli(...args: string[]): string {
    const [program = '', ...inside] = this.launcher;
    const env = { PATH: process.env['PATH'], DATA_DIR: this.#target };
    const command = [...inside, process.execPath, ...cliCommand, ...args];
    const { stdout, stderr } = spawnSync(program, command, { cwd: projectRoot, env, encoding: 'utf8' });
    return stdout + stderr;
  }

  unmount(): void {
    this.#holder.kill('SIGKILL');
  }
}

interface Disk {
  readonly server: TestServer;
  readonly tenant: Tenant;
}

const checksOf = async ({ server }: Disk) =>
  (JSON.parse((await call(`${server.url}/readyz`)).text) as { checks: Record<string, boolean> }).checks;

/** All reads work on a full disk. */
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

/** Sends events until they are refused; resolves with the number accepted. */
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
  const small = await SmallDisk.mountAt(target, source, 0);
  assert.match(small.cli('doctor'), /LOOK AT +disk_space\n(?:.*\n)*ok +synced_writes/);
  const named = `the disk of DATA_DIR ${target} is full: free some space on it`;
  for (const args of [
    ['org', 'create', '--slug', 'none', '--name', 'None'],
    ['key', 'create', '--org', 'full', '--scopes', 'read'],
  ])
    assert.ok(small.cli(...args).includes(named));
  await small.leave(300);
  const server = await startServer({ dataDir: target, launcher: small.launcher });
  const disk: Disk = { server, tenant: tenant.with({ server }) };
  const exported = () =>
    call(`${server.url}/api/v1/audit/export?format=ndjson`, { headers: { 'x-api-key': tenant.key } });
  const signedIn = () => login(server, { email: who.email, password });
  try {
    // Larger than the rest of a block, which the disk need not extend for an event.
    const event = sourceEvent({ extra: { pad: 'x'.repeat(50_000) } });
    let taken = await untilRefused(disk, event);
    assert.equal((await checksOf(disk))['log_takes_writes'], false);
    assert.ok(server.stderrLines().some((line) => /disk is almost full: the write-ahead log/.test(line)));
    assert.equal((await exported()).status, 200);
    assert.equal((await signedIn()).status, 200);
    await requireReads(disk, meta.total);
    await small.leave(0);
    await eventually('the service to have no room for its own events', async () =>
      (await exported()).status === 503 ? true : undefined,
    );
    problemOf(await exported(), 503);
    problemOf(await signedIn(), 503);
    taken += await untilRefused(disk, event);
    await requireReads(disk, meta.total);
    problemOf(await call(`${server.url}/readyz`), 503);
    const up = server.stderrLines().find((line) => line.includes('Embedded engine is up')) ?? '{}';
    process.kill((JSON.parse(up) as { pid: number }).pid, 'SIGKILL');
    await eventually('the engine to start without room for engine.json', () =>
      Promise.resolve(
        server.stderrLines().some((line) => line.includes('engine.json was not written')) || undefined,
      ),
    );
    await small.leave(700);
    await eventually('commands to find the engine', () =>
      Promise.resolve(small.cli('key', 'list', '--org', 'full').includes('write') || undefined),
    );
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
    small.unmount();
    await Promise.all([source, target].map(removeDirectory));
  }
});

/** An INSERT or a merge must be in progress when the disk fills up. */
const roundsMax = 60;
const cutShort = 'The engine failed to write its files';

test('events acknowledged while the disk fills up repeatedly are stored once', {
  skip: mayMount ? false : 'NOT TESTED: no mounts of its own for this user, so no full disk',
}, async () => {
  const [source, target] = [await temporaryDirectory(), await temporaryDirectory()];
  const before = await startServer({ dataDir: source });
  const made = await createTenant(before, 'filled');
  const { meta } = await made.settled(0);
  assert.equal(await before.stop(), 0);
  const small = await SmallDisk.mountAt(target, source, 900);
  let server = await startServer({ dataDir: target, launcher: small.launcher });
  try {
    let tenant = made.with({ server });
    let taken = 0;
    // Incompressible, so that the engine writes for a while.
    const events = () =>
      Array.from({ length: 200 }, () =>
        sourceEvent({ extra: { pad: randomBytes(15_000).toString('base64') } }),
      );
    const isCutShort = () => server.stderrLines().some((line) => line.includes(cutShort));
    for (let round = 0; round < roundsMax && !isCutShort(); round += 1) {
      await small.leave(900);
      await eventually('writes to be taken', async () => {
        const sent = events();
        const answer = await tenant.post(sent);
        taken += answer.status === 202 ? sent.length : 0;
        return answer.status === 202 ? true : undefined;
      });
      await sleep(30 * (round % 10));
      await small.leave(0);
      await sleep(200);
    }
    assert.ok(isCutShort(), 'the disk was never full while the engine wrote');
    await small.leave(900);
    await server.kill('SIGKILL');
    server = await startServer({ dataDir: target, launcher: small.launcher });
    tenant = tenant.with({ server });
    const total = await eventually('all to be readable', async () => {
      const page = pageOf(await tenant.get());
      return page.meta.total >= meta.total + taken ? page.meta.total : undefined;
    });
    assert.equal(total, meta.total + taken);
    assert.equal(await server.stop(), 0);
    // Only a projection of a merge may be cut, which loses no event.
    small.cli('doctor', '--repair');
    assert.match(small.cli('doctor'), /ok +nothing_missing\n(?:.*\n)*ok +parts_readable/);
  } finally {
    await server.stop();
    small.unmount();
    await Promise.all([source, target].map(removeDirectory));
  }
});
