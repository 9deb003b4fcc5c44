import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { Lease } from '../../src/storage/lease.ts';
import { hasEnded, ownIdentity } from '../../src/base/processes/process-identity.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

describe('a lease', () => {
  let engine: SharedEngine;
  before(async () => {
    engine = await sharedEngine();
  });
  const leaseOn = (name: string, options: { lastsMs?: number; owner?: string } = {}) =>
    new Lease({ storage: engine.storage, name, owner: randomUUID(), ...options });

  test('is held by one of those that ask at once, and by the next once it has ended, with a higher number', async () => {
    const name = randomUUID();
    const all = Array.from({ length: 5 }, () => leaseOn(name));
    const ask = async () => {
      const taken = await Promise.all(all.map((one) => one.take()));
      return all.filter((_, index) => taken[index] === true);
    };
    let held = await ask();
    // On a busy machine each may find that another was before it.
    while (held.length === 0) held = await ask();
    assert.equal(held.length, 1);
    const [first] = held as [Lease];
    const next = leaseOn(name);
    assert.equal(await next.take(), false);
    await first.check();
    await first.end();
    assert.equal(await next.take(), true);
    assert.ok(next.number > first.number);
    await assert.rejects(first.check(), /Another process has taken over/);
    await next.check();
    await next.end();
  });

  test('of a process that stood still is lost to the next one, and nothing is written under it any more', async () => {
    const name = randomUUID();
    const still = leaseOn(name, { lastsMs: 1_500 });
    assert.equal(await still.take(), true);
    await still.check();
    // As of a process that gets no time: no sign of life, and nobody tells it.
    const { number } = still;
    const next = leaseOn(name, { lastsMs: 1_500 });
    while (!(await next.take()));
    assert.ok(next.number > number);
    await assert.rejects(still.check(), /nothing more was changed/);
    await next.check();
    await next.end();
  });

  test('of a process of this machine that was killed is taken at once', async () => {
    const name = randomUUID();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const { place } = await ownIdentity();
    const { readFile } = await import('node:fs/promises');
    const text = await readFile(`/proc/${child.pid}/stat`, 'latin1');
    const begun = text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
    await engine.storage.command(
      `INSERT INTO leases (name, owner, held, number, lasts, version, place, pid, begun)
       SELECT {name:String}, generateUUIDv4(), true, 7, 3600000, 1, {place:String}, {pid:UInt32}, {begun:String}`,
      { name, place, pid: child.pid, begun },
    );
    const next = leaseOn(name);
    assert.equal(await next.take(), false, 'it lives');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(await next.take(), true);
    assert.equal(next.number, 8n);
    await next.end();
  });
});

test('a process is told from one that has its number later, and of another machine nothing is certain', async () => {
  const own = await ownIdentity();
  assert.notEqual(own.place, '');
  assert.equal(await hasEnded(own), false);
  assert.equal(await hasEnded({ ...own, begun: '1' }), true);
  assert.equal(await hasEnded({ ...own, begun: '1', place: 'elsewhere' }), false);
  assert.equal(await hasEnded({ ...own, begun: '', place: '' }), false);
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  assert.equal(await hasEnded({ ...own, pid: child.pid ?? 0 }), true);
});
