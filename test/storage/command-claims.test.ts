import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rmdir, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { hasEnded, ownIdentity } from '../../src/base/processes/process-identity.ts';
import { commandClaim, commandName, endLostClaims, openClaims } from '../../src/storage/command-claims.ts';
import type { Lease } from '../../src/storage/lease.ts';
import { limits } from '../../src/storage/limits.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { orderOfCommands } from '../../src/storage/watermarks.ts';
import { recordEvents } from '../../src/cli/record-events.ts';
import { loadConfig } from '../../src/config/config.ts';
import { changeOfOrganization, sourceEventOfChange } from '../../src/control/change-events.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine } from '../support/shared.ts';

let storage: Storage;
before(async () => {
  ({ storage } = await sharedEngine());
});

/** With the folder of an engine. */
async function dataDirectory(): Promise<string> {
  const dataDir = await temporaryDirectory();
  await mkdir(join(dataDir, 'engine'));
  return dataDir;
}

/** As of another process, or another time: above whatever the claim says itself. */
const alter = ({ owner }: Pick<Lease, 'owner'>, columns: string) =>
  storage.command(
    `INSERT INTO leases SELECT l.* REPLACE (${columns}, l.version + 1000 AS version)
     FROM leases AS l FINAL WHERE l.owner = {owner:UUID}`,
    { owner },
  );
const lapsed = 'now64(3) - toIntervalMinute(1) AS seen';

const isWaitedFor = async (claim: Lease) =>
  (await openClaims(storage)).some(({ owner }) => owner === claim.owner);

async function isAlive({ condition }: Lease): Promise<boolean | undefined> {
  const [row] = await storage.rows<{ held: boolean }>(`SELECT ${condition} AS held`);
  return row?.held;
}

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

test('a claim ends with its command: at once on its machine, elsewhere after some seconds without a sign of life', async () => {
  const claims = Array.from({ length: 3 }, () => commandClaim(storage, silentLog));
  const [here, elsewhere, alive] = claims as [Lease, Lease, Lease];
  for (const claim of claims) await claim.claim(7);
  await alter(here, `'1' AS begun`);
  await alter(elsewhere, `'elsewhere' AS place`);
  assert.equal((await orderOfCommands(storage)).lowest, 7);
  await endLostClaims(storage);
  const waited = async () => Promise.all(claims.map(isWaitedFor));
  assert.deepEqual(await waited(), [false, true, true]);
  await alter(elsewhere, lapsed);
  assert.deepEqual(await waited(), [false, true, true], 'what it may be storing is ended before');
  await endLostClaims(storage);
  assert.deepEqual(await waited(), [false, false, true]);
  // A command that comes back has lost it for good.
  for (const claim of [here, elsewhere]) {
    await claim.claim(9);
    assert.deepEqual([await isAlive(claim), await isWaitedFor(claim)], [false, false]);
  }
  assert.equal(await isAlive(alive), true);
  for (const claim of claims) await claim.end();
  assert.equal((await orderOfCommands(storage)).lowest, Number.POSITIVE_INFINITY);
});

test('a command that comes back before its claim is closed is waited for until what it stores has ended', async () => {
  const claim = commandClaim(storage, silentLog);
  await claim.claim(7);
  await alter(claim, `'elsewhere' AS place, ${lapsed}`);
  const asked: unknown[] = [];
  const back: Storage = {
    ...storage,
    // It takes its segment after it was found to have lapsed.
    command: async (statement, ...rest) => {
      if (asked.length === 0 && statement.includes('false AS held'))
        await alter(claim, '9 AS number, now64(3) AS seen');
      return storage.command(statement, ...rest);
    },
    rowsOfEach: async (query, parameters, options) => {
      asked.push(options?.queryId, await isWaitedFor(claim), await isAlive(claim));
      return storage.rowsOfEach(query, parameters, options);
    },
  };
  await endLostClaims(back);
  assert.deepEqual(asked, [`${storage.database}-${commandName(claim.owner)}-9`, true, false]);
  assert.equal(await isWaitedFor(claim), false);
  const { lowest, last } = await orderOfCommands(storage);
  assert.deepEqual([lowest, last], [Number.POSITIVE_INFINITY, 9]);
  await claim.end();
});

test('of a claim that could not be ended yet the feed waits on, and it says whose it is', async () => {
  const claim = commandClaim(storage, silentLog);
  await claim.claim(7);
  await alter(claim, `'1' AS begun`);
  const silent = {
    ...storage,
    rowsOfEach: () => Promise.reject(new EngineError('unreachable', 'it was killed')),
  };
  for (let turn = 0; turn < 2; turn++) {
    await assert.rejects(endLostClaims(silent), /it was killed/);
    const [open] = await openClaims(storage);
    assert.deepEqual([open?.owner, open?.pid, open?.host], [claim.owner, process.pid, hostname()]);
    assert.equal(await isAlive(claim), false);
  }
  await endLostClaims(storage);
  assert.equal(await isWaitedFor(claim), false);
  claim.abandon();
});

test('the engine stores nothing of a command whose claim has lapsed, and that takes a new place', async () => {
  const organization = await createOrganization(storage, { slug: 'late-command', name: 'Late' });
  /** The first claim lapses when the command is about to write, and a server sees that. */
  let lapses = 1;
  let lost = '';
  const late: Storage = {
    ...storage,
    insertNative: async (query, ...rest) => {
      const [, owner = ''] = /'command ([0-9a-f-]+)'/.exec(query) ?? [];
      if (lapses-- > 0) {
        lost = owner;
        await alter({ owner }, lapsed);
        await endLostClaims(storage);
      }
      return storage.insertNative(query, ...rest);
    },
  };
  const dataDir = await dataDirectory();
  const config = loadConfig({ DATA_DIR: dataDir });
  const change = changeOfOrganization(organization, 'organizationCreated');
  const recorded = () =>
    storage.rows<{ segment: string }>(
      'SELECT toString(bitShiftRight(seq, 20)) AS segment FROM events WHERE org = {org:UUID}',
      { org: organization.id },
    );
  await recordEvents({ storage: late, config, log: silentLog }, [sourceEventOfChange(change, 'op', 1)]);
  const [row, ...others] = await recorded();
  assert.deepEqual(others, []);
  const [first] = await storage.rows<{ lost: string }>(
    'SELECT max(number) AS lost FROM leases WHERE owner = {lost:UUID}',
    { lost },
  );
  assert.ok(Number(first?.lost) > 0);
  assert.ok(Number(row?.segment) > Number(first?.lost), 'not the place that it had lost');
  assert.equal(lapses, -1);
  await endLostClaims(storage);
  assert.equal((await orderOfCommands(storage)).lowest, Number.POSITIVE_INFINITY);
  await removeDirectory(dataDir);
});

test('what a command records while the disk fills up does not count as recorded', async (t) => {
  const organization = await createOrganization(storage, { slug: 'on-full-disk', name: 'Full' });
  const dataDir = await dataDirectory();
  t.after(() => removeDirectory(dataDir));
  const filling: Storage = {
    ...storage,
    insertNative: async (...given) => {
      await storage.insertNative(...given);
      await rmdir(join(dataDir, 'engine'));
      // A file system that never has room.
      await symlink('/proc', join(dataDir, 'engine'));
    },
  };
  const config = loadConfig({ DATA_DIR: dataDir });
  const change = changeOfOrganization(organization, 'organizationCreated');
  const recorded = recordEvents({ storage: filling, config, log: silentLog }, [
    sourceEventOfChange(change, 'op', 1),
  ]);
  await assert.rejects(recorded, /disk .*is full/);
});

test('a command that could not store gives no sign of life any more, so the feed does not wait for its process', async (t) => {
  const organization = await createOrganization(storage, { slug: 'failed-command', name: 'Failed' });
  let signs = 0;
  let owner = '';
  const failing: Storage = {
    ...storage,
    insertRows: (table, objects, ...rest) => {
      if (table === 'leases') {
        signs += 1;
        ({ owner } = objects[0] as { owner: string });
      }
      return storage.insertRows(table, objects, ...rest);
    },
    insertNative: () => Promise.reject(new EngineError('unreachable', 'the engine was killed')),
  };
  const dataDir = await dataDirectory();
  const change = changeOfOrganization(organization, 'organizationCreated');
  t.mock.timers.enable({ apis: ['setInterval'] });
  await assert.rejects(
    recordEvents({ storage: failing, config: loadConfig({ DATA_DIR: dataDir }), log: silentLog }, [
      sourceEventOfChange(change, 'op', 1),
    ]),
    /the engine was killed/,
  );
  const before = signs;
  assert.ok(before > 0);
  t.mock.timers.tick(limits.leaseRenewMs * 3);
  assert.equal(signs, before);
  await alter({ owner }, lapsed);
  await endLostClaims(storage);
  await removeDirectory(dataDir);
});
