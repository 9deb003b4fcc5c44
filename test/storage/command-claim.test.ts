import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { before, test } from 'node:test';
import { EngineError } from '../../src/base/engine-error.ts';
import { hasEnded, ownIdentity, type ProcessIdentity } from '../../src/base/process-identity.ts';
import { CommandClaim, endLostClaims, openClaims } from '../../src/storage/command-claim.ts';
import { limits } from '../../src/storage/limits.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { commandClaims } from '../../src/storage/watermarks.ts';
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

/** What the process of a claim is said to be. */
const owned = (claim: CommandClaim, owner: Partial<ProcessIdentity>) =>
  storage.insertRows('watermark_owners', [
    { writer: claim.writer, host: 'h', place: '', pid: 1, begun: '', segment: 7, ...owner },
  ]);

const isWaitedFor = async (claim: CommandClaim) =>
  (await openClaims(storage)).some(({ writer }) => writer === claim.writer);

/** Makes a claim as old as one whose command has stood still. */
const lapse = ({ writer }: Pick<CommandClaim, 'writer'>) =>
  storage.command(
    `INSERT INTO watermarks (writer, low, until, version) SELECT {writer:UUID}, 7, now64(3) - toIntervalSecond(1),
       max(version) + 1 FROM watermarks WHERE writer = {writer:UUID}`,
    { writer },
  );

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
  const [here, elsewhere, alive] = [
    await CommandClaim.begin(storage, 7, silentLog),
    await CommandClaim.begin(storage, 7, silentLog),
    await CommandClaim.begin(storage, 7, silentLog),
  ];
  await owned(here, { ...(await ownIdentity()), begun: '1' });
  await owned(elsewhere, { place: 'elsewhere' });
  assert.equal((await commandClaims(storage)).lowest, 7);
  await endLostClaims(storage);
  const waited = async () => Promise.all([here, elsewhere, alive].map(isWaitedFor));
  assert.deepEqual(await waited(), [false, true, true]);
  await lapse(elsewhere);
  assert.deepEqual(await waited(), [false, true, true], 'what it may be storing is ended before');
  await endLostClaims(storage);
  assert.deepEqual(await waited(), [false, false, true]);
  // A command that comes back has lost it for good.
  for (const claim of [here, elsewhere]) {
    await claim.take(9);
    assert.deepEqual([await claim.isAlive(), await isWaitedFor(claim)], [false, false]);
  }
  assert.equal(await alive.isAlive(), true);
  for (const claim of [here, elsewhere, alive]) await claim.end();
  assert.equal((await commandClaims(storage)).lowest, Number.POSITIVE_INFINITY);
});

test('the engine stores nothing of a command whose claim has lapsed, and that takes a new place', async () => {
  const organization = await createOrganization(storage, { slug: 'late-command', name: 'Late' });
  /** The first claim lapses when the command is about to write. */
  let lapses = 1;
  const late: Storage = {
    ...storage,
    insertNative: async (query, ...rest) => {
      const [, writer = ''] = /writer = '([0-9a-f-]+)'/.exec(query) ?? [];
      if (lapses-- > 0) await lapse({ writer });
      return storage.insertNative(query, ...rest);
    },
  };
  const dataDir = await temporaryDirectory();
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
  const first = await storage.rows<{ lost: string }>(
    'SELECT toString(min(segment)) AS lost FROM watermark_owners WHERE segment > 7',
  );
  assert.ok(Number(row?.segment) > Number(first[0]?.lost), 'not the place that it had lost');
  assert.equal(lapses, -1);
  await endLostClaims(storage);
  assert.equal((await commandClaims(storage)).lowest, Number.POSITIVE_INFINITY);
  await removeDirectory(dataDir);
});

test('a command that could not store gives no sign of life any more, so the feed does not wait for its process', async (t) => {
  const organization = await createOrganization(storage, { slug: 'failed-command', name: 'Failed' });
  let signs = 0;
  let writer = '';
  const failing: Storage = {
    ...storage,
    command: (statement, parameters, ...rest) => {
      if (statement.includes('INSERT INTO watermarks')) {
        signs += 1;
        writer = String(parameters?.['writer']);
      }
      return storage.command(statement, parameters, ...rest);
    },
    insertNative: () => Promise.reject(new EngineError('unreachable', 'the engine was killed')),
  };
  const dataDir = await temporaryDirectory();
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
  t.mock.timers.tick(limits.watermarkRenewMs * 3);
  assert.equal(signs, before);
  await lapse({ writer });
  await endLostClaims(storage);
  await removeDirectory(dataDir);
});
