import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/base/time/clock.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import {
  apiKeyTable,
  createApiKey,
  findApiKey,
  revokeApiKey,
  rotateApiKey,
} from '../../src/control/api-keys.ts';
import { Directory } from '../../src/control/directory.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import {
  applyPolicy,
  placeHold,
  readPolicy,
  retentionTable,
  previewPolicy,
} from '../../src/control/retention.ts';
import { readSignOn, signOnTable } from '../../src/control/sign-on-settings.ts';
import {
  changeRole,
  createUser,
  disableUser,
  findUser,
  setPassword,
  userTable,
} from '../../src/control/users.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine } from '../support/shared.ts';

const tables = [userTable, apiKeyTable, retentionTable, signOnTable];
const rounds = 12;
const password = 'correct horse battery';

let storage: Storage;
/** Another process, as far as the engine can tell. */
let elsewhere: Storage;

before(async () => {
  const engine = await sharedEngine();
  storage = engine.storage;
  elsewhere = openStorage(engine.connection, silentLog);
});
after(async () => {
  await elsewhere?.close();
});

const organization = (slug: string) => createOrganization(storage, { slug, name: slug });

describe('two processes that change the same at once', () => {
  // A merge between the write of one and the look of the other may hide what was written (src/control/README.md, Changing a row).
  before(async () => {
    for (const { name } of tables) await storage.command(`SYSTEM STOP MERGES ${name}`);
  });
  // Mutations wait for it, too.
  after(async () => {
    for (const { name } of tables) await storage.command(`SYSTEM START MERGES ${name}`);
  });

  test('a user who is disabled and whose role changes is both', async () => {
    const { slug } = await organization('both-user');
    for (let round = 0; round < rounds; round += 1) {
      const email = `u${round}@acme.example`;
      const { id } = await createUser(storage, {
        organization: slug,
        email,
        name: 'U',
        role: 'member',
        password,
      });
      await Promise.all([disableUser(storage, { user: id }), changeRole(elsewhere, { user: id }, 'auditor')]);
      const user = await findUser(storage, { user: id });
      assert.equal(user.role, 'auditor');
      assert.ok(user.disabledMicros !== undefined, `round ${round}: the user has access again`);
    }
  });

  test('each of two changes of the password ends the sessions of the other', async () => {
    const { slug } = await organization('both-password');
    const input = { organization: slug, email: 'p@acme.example', name: 'P', role: 'admin', password };
    const { id } = await createUser(storage, input);
    const changed = await Promise.all([
      setPassword(storage, { user: id }, `${password} 1`),
      setPassword(elsewhere, { user: id }, `${password} 2`),
    ]);
    const last = await findUser(storage, { user: id });
    const lost = changed.filter(({ passwordHash }) => passwordHash !== last.passwordHash);
    assert.equal(lost.length, 1);
    assert.ok(lost.every(({ credentialVersion }) => credentialVersion < last.credentialVersion));
  });

  test('a key that is revoked while it is rotated stays revoked', async () => {
    const { slug } = await organization('both-key');
    for (let round = 0; round < rounds; round += 1) {
      const { apiKey } = await createApiKey(storage, { organization: slug, name: 'k', scopes: 'write' });
      const isRevoked = (error: unknown) => error instanceof Problem && error.code === 'conflict';
      const [, rotated] = await Promise.allSettled([
        revokeApiKey(storage, apiKey.id),
        rotateApiKey(elsewhere, apiKey.id),
      ]);
      assert.ok(rotated.status === 'fulfilled' || isRevoked(rotated.reason));
      const { revokedMicros } = await findApiKey(storage, apiKey.id);
      assert.ok(revokedMicros !== undefined, `round ${round}: the key is good again`);
    }
  });

  test('a hold that is placed while the retention changes stays', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { id } = await organization(`both-hold-${round}`);
      const preview = await previewPolicy(elsewhere, id, { days: 30 }, systemClock());
      await Promise.all([
        placeHold(storage, id, 'Doe v. Acme'),
        applyPolicy(elsewhere, preview, systemClock()),
      ]);
      const policy = await readPolicy(storage, id);
      assert.equal(policy.days, 30);
      assert.ok(policy.heldMicros !== undefined, `round ${round}: the hold is lost`);
    }
  });

  test('a change that was previewed long ago leaves what has been changed since', async () => {
    const { id } = await organization('previewed-before');
    const preview = await previewPolicy(elsewhere, id, { days: 30 }, systemClock());
    const { now: held } = await placeHold(storage, id, 'Doe v. Acme');
    const { now } = await applyPolicy(elsewhere, preview, systemClock());
    assert.deepEqual([now.days, now.heldMicros], [30, held.heldMicros]);
  });

  test('a clock that is behind loses nothing', async () => {
    const { id } = await organization('behind');
    const settings = await readSignOn(storage, id);
    await signOnTable.update(storage, settings, { createUsers: true }, systemClock());
    const now = await signOnTable.update(elsewhere, settings, { roleClaim: 'groups' }, 1);
    assert.deepEqual([now.createUsers, now.roleClaim], [true, 'groups']);
    assert.deepEqual(await readSignOn(storage, id), now);
  });
});

test('a revocation that the engine took half a minute for reaches processes that have looked meanwhile', async (t) => {
  const { slug } = await organization('slow-revocation');
  const { apiKey } = await createApiKey(storage, { organization: slug, scopes: 'read' });
  const clock = systemClock;
  const directory = new Directory({ storage: elsewhere, log: silentLog, clock, expiryMicros: clock });
  await directory.refresh();
  let passedMs = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + passedMs);
  let isSlow = true;
  const insertRows: Storage['insertRows'] = async (table, rows, ...options) => {
    const written = new Date(Date.now() - 40_000).toISOString().slice(0, -1);
    const late = isSlow ? rows.map((row) => ({ ...row, written })) : rows;
    if (isSlow) passedMs += 40_000;
    isSlow = false;
    await storage.insertRows(table, late, ...options);
  };
  await revokeApiKey({ ...storage, insertRows }, apiKey.id);
  await directory.refresh();
  assert.notEqual(directory.apiKey(apiKey.id)?.revokedMicros, undefined);
});

test('what is read at the start may take as long as any read of the engine, which may be busy', async () => {
  /** An engine that takes ten seconds for each answer, without the seconds. */
  const slow = new Proxy(storage, {
    get(target, name: keyof Storage) {
      if (name !== 'rows') return target[name];
      const rows: Storage['rows'] = (query, parameters, options = {}) =>
        (options.timeoutMs ?? Infinity) < 10_000
          ? Promise.reject(new EngineError('timeout', 'no answer within the time'))
          : target.rows(query, parameters, options);
      return rows;
    },
  });
  const { id } = await organization('slow-start');
  const options = { log: silentLog, clock: systemClock, expiryMicros: systemClock };
  const directory = new Directory({ storage: slow, ...options });
  await directory.refresh();
  assert.equal(directory.organizationById(id)?.slug, 'slow-start');
  await assert.rejects(directory.refresh(), EngineError, 'later ones are tried again soon');
});
