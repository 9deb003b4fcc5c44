import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { limits } from '../../src/control/limits.ts';
import { Problem, type ProblemCode } from '../../src/base/errors/problem.ts';
import {
  createApiKey,
  findApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../../src/control/api-keys.ts';
import { authenticateKey, authenticateKeyFresh } from '../../src/control/authenticate-key.ts';
import { changeCodes } from '../../src/control/change-events.ts';
import { Directory } from '../../src/control/directory.ts';
import { endedSessionTable } from '../../src/control/ended-sessions.ts';
import { identityTable } from '../../src/control/identities.ts';
import {
  createOrganization,
  effectiveRetentionDays,
  findOrganization,
  listOrganizations,
  updateOrganization,
} from '../../src/control/organizations.ts';
import { PasswordVerifier } from '../../src/control/passwords.ts';
import {
  createUser,
  disableUser,
  eraseUser,
  findUser,
  listUsers,
  setPassword,
} from '../../src/control/users.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';
import { patience } from '../support/patience.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
let storage: Storage;
/** Another process, as far as the engine can tell. */
let elsewhere: Storage;

before(async () => {
  engine = await sharedEngine();
  storage = engine.storage;
  elsewhere = openStorage(engine.connection, silentLog);
});
after(async () => {
  await elsewhere?.close();
});

const problem = (code: ProblemCode) => (error: unknown) => error instanceof Problem && error.code === code;
const directory = () =>
  new Directory({ storage, log: silentLog, clock: systemClock, expiryMicros: systemClock });
const password = 'correct horse battery';

describe('organizations', () => {
  test('are made, found by slug and id, changed and listed', async () => {
    const made = await createOrganization(storage, {
      slug: 'org-1',
      name: ' Première "Org" \\ 1 ',
      retention: '36h',
    });
    assert.equal(made.name, 'Première "Org" \\ 1');
    assert.equal(made.retentionDays, 2);
    assert.deepEqual(await findOrganization(storage, 'org-1'), made);
    assert.deepEqual(await findOrganization(storage, made.id.toUpperCase()), made);
    const how = { defaultDays: undefined };
    const settings = { receipts: 'off', retention: 'off' };
    const { now: changed } = await updateOrganization(storage, 'org-1', settings, how);
    assert.equal(changed.receipts, 'off');
    assert.equal(changed.name, made.name);
    assert.deepEqual(await findOrganization(storage, made.id), changed);
    assert.deepEqual(
      (await listOrganizations(storage)).filter(({ slug }) => slug === 'org-1'),
      [changed],
    );
  });

  test('retention: the own one, for ever, or the default', async () => {
    const made = await createOrganization(storage, { slug: 'retention', name: 'R' });
    assert.equal(effectiveRetentionDays(made, 30), 30);
    assert.equal(effectiveRetentionDays({ ...made, retentionDays: 7 }, 30), 7);
    assert.equal(effectiveRetentionDays({ ...made, retentionDays: 0 }, 30), undefined);
    assert.equal(
      (await updateOrganization(storage, 'retention', { retention: 'default' }, { defaultDays: 30 })).now
        .retentionDays,
      undefined,
    );
  });

  test('bad settings are refused', async () => {
    const slugs = ['', 'A', 'a b', 'ä', 'a_b', 'a'.repeat(64), '11111111-1111-4111-8111-111111111111', "a'b"];
    for (const slug of slugs) {
      await assert.rejects(createOrganization(storage, { slug, name: 'X' }), problem('malformed'), slug);
    }
    for (const bad of [
      { name: '' },
      { name: 'a\nb' },
      { name: 'x'.repeat(201) },
      { retention: '90' },
      { receipts: 'all' },
    ]) {
      await assert.rejects(
        createOrganization(storage, { slug: 'fine', name: 'X', ...bad }),
        problem('malformed'),
        JSON.stringify(bad),
      );
    }
    await assert.rejects(findOrganization(storage, 'fine'), problem('not_found'));
  });

  test('a slug is given once, also when many ask for it together', async () => {
    await createOrganization(storage, { slug: 'once', name: 'X' });
    await assert.rejects(createOrganization(storage, { slug: 'once', name: 'Y' }), problem('conflict'));
    const rivals = Array.from({ length: 5 }, () => createOrganization(storage, { slug: 'rival', name: 'X' }));
    const won = (await Promise.allSettled(rivals)).filter(({ status }) => status === 'fulfilled').length;
    assert.ok(won <= 1, `${won} have it`);
    assert.equal((await listOrganizations(storage)).filter(({ slug }) => slug === 'rival').length, won);
  });

  test('a change counts even from a machine whose clock is behind', async () => {
    await createOrganization(storage, { slug: 'clocks', name: 'first' });
    const anHourBehind: Clock = () => systemClock() - 3_600_000_000;
    await updateOrganization(
      storage,
      'clocks',
      { name: 'second' },
      { defaultDays: undefined, clock: anHourBehind },
    );
    assert.equal((await findOrganization(storage, 'clocks')).name, 'second');
  });
});

describe('users', () => {
  test('have a verified password, end with being disabled, and keep their address', async () => {
    const { id } = await createOrganization(storage, { slug: 'people', name: 'P' });
    const input = {
      organization: 'people',
      email: 'Ann.Ö@Example.com',
      name: '山田',
      role: 'auditor',
      password,
    };
    const made = await createUser(storage, input);
    assert.equal(made.organizationId, id);
    // By ASCII case alone.
    assert.equal(made.emailLower, 'ann.Ö@example.com');
    const verifier = new PasswordVerifier();
    assert.equal(await verifier.verify(made.passwordHash, password), true);
    await assert.rejects(createUser(storage, { ...input, email: 'ANN.Ö@example.COM' }), problem('conflict'));

    await assert.rejects(
      setPassword(storage, { user: 'ann.ö@example.com' }, 'another horse battery'),
      problem('not_found'),
    );
    const changed = await setPassword(storage, { user: 'ann.Ö@EXAMPLE.com' }, 'another horse battery');
    assert.equal(changed.credentialVersion, 2);
    assert.equal(await verifier.verify(changed.passwordHash, password), false);
    const disabled = await disableUser(storage, { user: made.id });
    assert.equal(disabled.credentialVersion, 3);
    assert.notEqual(disabled.disabledMicros, undefined);
    assert.deepEqual(await disableUser(storage, { user: made.id }), disabled);
    assert.deepEqual(await listUsers(storage, 'people'), [disabled]);
    await assert.rejects(createUser(storage, input), problem('conflict'));
  });

  test('an address may be in two organizations, and must then be told apart', async () => {
    await createOrganization(storage, { slug: 'two-a', name: 'A' });
    await createOrganization(storage, { slug: 'two-b', name: 'B' });
    const input = { email: 'both@example.com', name: 'B', role: 'member', password };
    const a = await createUser(storage, { ...input, organization: 'two-a' });
    await createUser(storage, { ...input, organization: 'two-b' });
    await assert.rejects(findUser(storage, { user: 'both@example.com' }), problem('malformed'));
    assert.deepEqual(await findUser(storage, { user: 'both@example.com', organization: 'two-a' }), a);
    await assert.rejects(findUser(storage, { user: a.id, organization: 'two-b' }), problem('not_found'));
    const state = directory();
    await state.refresh();
    assert.equal(state.usersByEmail('both@example.com').length, 2);
    assert.deepEqual(state.userById(a.id), a);
  });

  test('bad input is refused', async () => {
    const input = { organization: 'people', email: 'x@example.com', name: 'X', role: 'member', password };
    const wrong = [
      { email: 'x' },
      { email: 'a b@example.com' },
      { email: 'a@b@c' },
      { email: `${'a'.repeat(250)}@example.com` },
      { role: 'owner' },
      { name: '' },
      { password: 'short' },
    ];
    for (const bad of wrong) {
      await assert.rejects(
        createUser(storage, { ...input, ...bad }),
        problem('malformed'),
        JSON.stringify(bad),
      );
    }
    await assert.rejects(createUser(storage, { ...input, organization: 'nobody' }), problem('not_found'));
  });
});

describe('API keys', () => {
  before(() => createOrganization(storage, { slug: 'keys', name: 'K' }));

  test('a key is stored as a digest only', async () => {
    const { apiKey, text } = await createApiKey(storage, {
      organization: 'keys',
      scopes: 'write, read',
      name: 'SIEM',
      expires: '90d',
      rateLimit: '300/15s',
    });
    assert.deepEqual(apiKey.scopes, ['read', 'write']);
    assert.deepEqual(apiKey.rateLimit, { requests: 300, windowMs: 15_000 });
    assert.equal(apiKey.expiresMicros, apiKey.createdMicros + 90 * 86_400_000_000);
    assert.deepEqual(await findApiKey(storage, apiKey.id), apiKey);
    assert.deepEqual(await listApiKeys(storage, 'keys'), [apiKey]);
    const rows = JSON.stringify(await storage.rows('SELECT * FROM api_keys'));
    assert.ok(!rows.includes(text.slice(-43)));
  });

  test('what a key may not be is refused', async () => {
    const bad: Parameters<typeof createApiKey>[1][] = [
      { scopes: 'read' },
      { organization: 'keys', allOrganizations: true, scopes: 'write' },
      { allOrganizations: true, scopes: 'read,write' },
      { organization: 'keys', scopes: '' },
      { organization: 'keys', scopes: 'read,admin' },
      { organization: 'keys', scopes: 'read', expires: '0d' },
      { organization: 'keys', scopes: 'read', expires: 'never' },
      { organization: 'keys', scopes: 'read', rateLimit: '300' },
      { organization: 'keys', scopes: 'read', name: 'a\tb' },
    ];
    for (const input of bad) {
      await assert.rejects(createApiKey(storage, input), problem('malformed'), JSON.stringify(input));
    }
    await assert.rejects(
      createApiKey(storage, { organization: 'none', scopes: 'read' }),
      problem('not_found'),
    );
  });

  test('rotation keeps the old secret for the grace, revocation ends both', async () => {
    const state = directory();
    const works = async (text: string, now = systemClock()) => {
      await state.refresh();
      return authenticateKey(state, text, now) !== undefined;
    };
    const first = await createApiKey(elsewhere, { organization: 'keys', scopes: 'read' });
    assert.equal(await works(first.text), true);
    const second = await rotateApiKey(elsewhere, first.apiKey.id);
    assert.equal(second.apiKey.id, first.apiKey.id);
    assert.equal(await works(first.text), true);
    assert.equal(await works(second.text), true);
    const dayMicros = 86_400_000_000;
    assert.equal(await works(first.text, second.apiKey.version + dayMicros - 1_000_000), true);
    assert.equal(await works(first.text, second.apiKey.version + dayMicros + 1_000_000), false);
    const third = await rotateApiKey(elsewhere, first.apiKey.id, '0');
    assert.deepEqual(
      [await works(first.text), await works(second.text), await works(third.text)],
      [false, false, true],
    );
    const revoked = await revokeApiKey(elsewhere, first.apiKey.id);
    assert.equal(await works(third.text), false);
    assert.equal((await revokeApiKey(elsewhere, first.apiKey.id)).revokedMicros, revoked.revokedMicros);
    await assert.rejects(rotateApiKey(elsewhere, first.apiKey.id), problem('conflict'));
  });

  test('an expired key cannot be rotated, an unknown one not found, a bad grace refused', async () => {
    const { apiKey } = await createApiKey(storage, { organization: 'keys', scopes: 'read', expires: '1ms' });
    await sleep(5);
    await assert.rejects(rotateApiKey(storage, apiKey.id), problem('conflict'));
    await assert.rejects(rotateApiKey(storage, 'nothing'), problem('not_found'));
    await assert.rejects(rotateApiKey(storage, apiKey.id, 'soon'), problem('malformed'));
  });
});

describe('the directory', () => {
  test('sees what another process does within two seconds, and says that it changed', async () => {
    const state = directory();
    await state.refresh();
    state.start();
    try {
      const version = state.version();
      await createOrganization(elsewhere, { slug: 'seen', name: 'S' });
      const { apiKey, text } = await createApiKey(elsewhere, { organization: 'seen', scopes: 'read' });
      const until = async (reached: () => boolean) => {
        const begun = performance.now();
        while (!reached()) {
          assert.ok(performance.now() - begun < patience(1_000), 'not within two seconds of a quiet machine');
          await sleep(20);
        }
      };
      await until(() => authenticateKey(state, text, systemClock()) !== undefined);
      assert.notEqual(state.version(), version);
      assert.equal(state.organizationById(apiKey.organizationId ?? '')?.slug, 'seen');
      await revokeApiKey(elsewhere, apiKey.id);
      await until(() => authenticateKey(state, text, systemClock()) === undefined);
    } finally {
      await state.stop();
    }
  });

  test('a key works from the moment it was made, where the caller may wait for a look', async () => {
    const state = directory();
    await state.refresh();
    const { text } = await createApiKey(elsewhere, { organization: 'seen', scopes: 'read' });
    await sleep(limits.controlFreshMsMax + 10);
    assert.notEqual(await authenticateKeyFresh(state, text, systemClock), undefined);
  });

  test('an address that an erasure took from a user means whoever has it next, and nobody else', async () => {
    await createOrganization(storage, { slug: 'erased', name: 'E' });
    const input = {
      organization: 'erased',
      email: 'again@example.com',
      name: 'A',
      role: 'member',
      password,
    };
    const first = await createUser(storage, input);
    const state = directory();
    await state.refresh();
    assert.equal(state.usersByEmail(input.email)[0]?.id, first.id);
    await eraseUser(elsewhere, first.id, 'erased-7');
    const second = await createUser(elsewhere, input);
    await state.refresh();
    const idsOf = (email: string) => state.usersByEmail(email).map(({ id }) => id);
    assert.deepEqual([idsOf(input.email), idsOf('erased-7@erased.invalid')], [[second.id], [first.id]]);
  });

  test('what an erasure that was killed has left of an account is removed by the next one', async () => {
    const { id: organizationId } = await createOrganization(storage, { slug: 'killed', name: 'K' });
    const person = { email: 'killed@example.com', name: 'A', role: 'member', password };
    const { id } = await createUser(storage, { ...person, organization: 'killed' });
    const named = { externalId: person.email, issuer: '', subject: '', linkedMicros: undefined, version: 1 };
    await identityTable.put(storage, { id, organizationId, ...named });
    const killed = { ...storage, removeRows: () => Promise.reject(new Error('killed')) };
    await assert.rejects(eraseUser(killed, id, 'erased-8'), /killed/);
    await eraseUser(storage, id, 'erased-8');
    const left = await storage.rows(
      `SELECT email FROM users WHERE id = {id:UUID} UNION ALL SELECT external_id FROM user_identities WHERE id = {id:UUID}`,
      { id },
    );
    assert.deepEqual(left, [{ email: 'erased-8@erased.invalid' }]);
    assert.equal(await eraseUser(storage, id, 'erased-8'), undefined);
  });

  test('nothing new changes nothing', async () => {
    const state = directory();
    await state.refresh();
    const version = state.version();
    await state.refresh();
    await Promise.all([state.refresh(), state.refresh(), state.freshen(0)]);
    assert.equal(state.version(), version);
  });

  test('knows ended sessions until they would have expired', async () => {
    const state = directory();
    const now = systemClock();
    await endedSessionTable.put(elsewhere, { id: 'ended', expiresMicros: now + 60_000_000, version: now });
    await endedSessionTable.put(elsewhere, { id: 'long-gone', expiresMicros: now - 1, version: now });
    await state.refresh();
    assert.deepEqual([state.sessionEnded('ended'), state.sessionEnded('long-gone')], [true, false]);
  });

  test('keeps the last good state while the engine does not answer', async () => {
    let down = false;
    const flaky: Storage = {
      ...storage,
      rows: (...query) => (down ? Promise.reject(new Error('down')) : storage.rows(...query)),
    };
    const state = new Directory({
      storage: flaky,
      log: silentLog,
      clock: systemClock,
      expiryMicros: systemClock,
    });
    await state.refresh();
    const before = state.organizations();
    down = true;
    await assert.rejects(state.refresh());
    await state.freshen(0);
    assert.deepEqual(state.organizations(), before);
    assert.ok(before.length > 0);
    down = false;
    await state.refresh();
  });
});

test('codes of changes are codes of the registry', () => {
  for (const code of Object.values(changeCodes)) assert.ok(activityTitles.has(code), String(code));
});
