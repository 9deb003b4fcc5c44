import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, open, readdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isServed, lockDirectory, lockHolder } from '../../src/base/files/directory-lock.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/** Of eight that ask at once exactly one gets the lock; the others are told that it is in use. */
async function raceFor(directory: string): Promise<void> {
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
  const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  // One that only tries is named, too.
  for (const { reason } of refused) assert.match(String(reason), new RegExp(`: process ${process.pid}, `));
  assert.equal(held.length, 1, `${held.length} hold it`);
  for (const { value } of held) await value.release();
}

/** A socket that nobody listens at any more, as a killed process leaves it. */
async function leaveDeadSocket(directory: string, name: string): Promise<void> {
  const handle = await open(directory, 'r');
  const place = `/proc/self/fd/${handle.fd}`;
  const server = createServer();
  server.listen(join(place, 'alive'));
  await once(server, 'listening');
  await link(join(place, 'alive'), join(place, name));
  await new Promise((resolve) => server.close(resolve));
  await handle.close();
}

describe('lock of the data directory', () => {
  let parent: string;
  let directory: string;
  before(async () => {
    parent = await temporaryDirectory();
    // Longer than the path of a socket may be.
    directory = join(parent, 'a'.repeat(120));
    await mkdir(directory);
  });
  after(() => removeDirectory(parent));

  it('is refused with the process that holds it, and what to do about that', async () => {
    const inUse = `another process uses DATA_DIR ${directory}: process ${process.pid}`;
    for (const [kind, words] of [
      ['server', ', a server; end it with "auditlog stop", or name another directory'],
      ['command', ', a command; wait for its end'],
    ] as const) {
      const lock = await lockDirectory(directory, kind);
      await assert.rejects(lockDirectory(directory), { message: `${inUse}${words}` });
      await lock.release();
    }
  });

  it('names its holder and the kind of process', async () => {
    assert.equal(await lockHolder(directory), undefined);
    const lock = await lockDirectory(directory, 'server');
    assert.deepEqual(await lockHolder(directory), { kind: 'server', pid: process.pid, isHere: true });
    await lock.release();
    assert.equal(await lockHolder(directory), undefined);
  });

  it('is released even if an asking connection stays open', async () => {
    const lock = await lockDirectory(directory);
    const handle = await open(directory, 'r');
    const [name] = (await readdir(directory)).filter((one) => one.startsWith('lock.'));
    const path = join(`/proc/self/fd/${handle.fd}`, name ?? '');
    const asking = connect({ path, allowHalfOpen: true });
    const [state] = (await once(asking, 'data')) as [Buffer];
    assert.match(state.toString(), /^held command /);
    await lock.release();
    asking.destroy();
    await handle.close();
  });

  it('goes to one of many that ask at the same time', async () => {
    for (let round = 0; round < 10; round++) await raceFor(directory);
  });

  it('goes to one of many that find what dead processes have left, and removes that', async () => {
    for (let round = 0; round < 10; round++) {
      for (let dead = 0; dead < 3; dead++) await leaveDeadSocket(directory, `lock.${dead}`);
      await raceFor(directory);
      assert.deepEqual(await readdir(directory), []);
    }
  });

  /** Another process that holds the lock. */
  async function holder() {
    const module = new URL('../../src/base/files/directory-lock.ts', import.meta.url).href;
    const script = `const { lockDirectory } = await import(${JSON.stringify(module)});
      await lockDirectory(${JSON.stringify(directory)}); console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
    await once(child.stdout, 'data');
    return child;
  }

  it('stays with a suspended process, after any number of requests', async (t) => {
    const child = await holder();
    child.kill('SIGSTOP');
    const [name = ''] = await readdir(directory);
    const handle = await open(directory, 'r');
    const asking = Array.from({ length: 1_000 }, () => connect(`/proc/self/fd/${handle.fd}/${name}`));
    for (const socket of asking) socket.on('error', () => socket.destroy());
    t.after(async () => {
      for (const socket of asking) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'exit');
      await handle.close();
    });
    await assert.rejects(lockDirectory(directory), /another process/);
    assert.equal(await isServed(directory), true, 'it cannot be told what it is');
  });

  it('ends with a process that is killed', async () => {
    const child = await holder();
    await assert.rejects(lockDirectory(directory), /another process/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await lockDirectory(directory)).release();
  });
});
