import { strict as assert } from 'node:assert';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { Problem, type ProblemCode } from '../../src/base/errors/problem.ts';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import {
  createApiKey,
  findApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../../src/control/api-keys.ts';
import { authenticateKey, authenticateKeyFresh } from '../../src/control/authenticate-key.ts';
import { changeCodes } from '../../src/control/change-events.ts';
import type { Decide } from '../../src/control/decision.ts';
import type { Directory } from '../../src/control/directory.ts';
import { beginErasure } from '../../src/control/erasure.ts';
import { limits } from '../../src/control/limits.ts';
import {
  createOrganization,
  effectiveRetentionDays,
  findOrganization,
  updateOrganization,
} from '../../src/control/organizations.ts';
import { hashPassword, noPassword, PasswordVerifier } from '../../src/control/passwords.ts';
import {
  followSetting,
  placeHold,
  policyOf,
  previewPolicy,
  previewRelease,
  releaseHold,
} from '../../src/control/retention.ts';
import type { Part } from '../../src/control/records.ts';
import { endSession } from '../../src/control/sessions.ts';
import {
  changeRole,
  createUser,
  disableUser,
  findUser,
  listUsers,
  newUser,
  setPassword,
} from '../../src/control/users.ts';
import { ControlState } from '../../src/control/state.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { patience } from '../support/patience.ts';
import { sharedEngine } from '../support/shared.ts';

let storage: Storage;
/** Of two independent processes. */
let here: Directory;
let elsewhere: Directory;

before(async () => {
  ({ storage } = await sharedEngine());
  here = await openDirectory(storage);
  elsewhere = await openDirectory(storage);
});

const problem = (code: ProblemCode) => (error: unknown) => error instanceof Problem && error.code === code;
const change = <T>(decide: Decide<T>, by = here): Promise<T> => by.change(operatorCall, decide);
/** Invalid input may be found before anything is read. */
const refused = (code: ProblemCode, decide: () => Decide<unknown>, words?: string) =>
  assert.rejects(async () => change(decide()), problem(code), words);
const password = 'correct horse battery';
const organization = (slug: string) => change(createOrganization({ slug, name: slug }));

describe('organizations', () => {
  test('are made, found by slug and id, changed and listed', async () => {
    const made = await change(
      createOrganization({ slug: 'org-1', name: ' Première "Org" \\ 1 ', retention: '36h' }),
    );
    assert.equal(made.name, 'Première "Org" \\ 1');
    assert.equal(made.retentionDays, 2);
    assert.deepEqual(findOrganization(here, 'org-1'), made);
    assert.deepEqual(findOrganization(here, made.id.toUpperCase()), made);
    const preview = await previewPolicy(storage, policyOf(here, made.id), { days: undefined }, systemClock());
    const settings = { receipts: 'off', retention: 'off' };
    const { now: changed } = await change(updateOrganization('org-1', settings, preview));
    assert.equal(changed.receipts, 'off');
    assert.equal(changed.name, made.name);
    assert.deepEqual(findOrganization(here, made.id), changed);
    assert.deepEqual(
      here.organizations().filter(({ slug }) => slug === 'org-1'),
      [changed],
    );
  });

  test('retention: the own one, for ever, or the default', async () => {
    const made = await organization('retention');
    assert.equal(effectiveRetentionDays(made, 30), 30);
    assert.equal(effectiveRetentionDays({ ...made, retentionDays: 7 }, 30), 7);
    assert.equal(effectiveRetentionDays({ ...made, retentionDays: 0 }, 30), undefined);
    const preview = await previewPolicy(storage, policyOf(here, made.id), { days: 7 }, systemClock());
    const { now, policy } = await change(updateOrganization('retention', { retention: '7d' }, preview));
    assert.deepEqual([now.retentionDays, policy?.now.days], [7, 7]);
  });

  test('bad settings are refused', async () => {
    const slugs = ['', 'A', 'a b', 'ä', 'a_b', 'a'.repeat(64), '11111111-1111-4111-8111-111111111111', "a'b"];
    for (const slug of slugs) await refused('malformed', () => createOrganization({ slug, name: 'X' }), slug);
    for (const bad of [
      { name: '' },
      { name: 'a\nb' },
      { name: 'x'.repeat(201) },
      { retention: '90' },
      { receipts: 'all' },
    ])
      await refused(
        'malformed',
        () => createOrganization({ slug: 'fine', name: 'X', ...bad }),
        JSON.stringify(bad),
      );
    assert.throws(() => findOrganization(here, 'fine'), problem('not_found'));
  });

  test('a slug is given once, also when several processes ask for it together', async () => {
    await organization('once');
    await refused('conflict', () => createOrganization({ slug: 'once', name: 'Y' }));
    const processes = await Promise.all(Array.from({ length: 4 }, () => openDirectory(storage)));
    const rivals = await Promise.allSettled(
      processes.map((one) => change(createOrganization({ slug: 'rival', name: 'X' }), one)),
    );
    const lost = rivals.filter((rival) => rival.status === 'rejected');
    assert.equal(lost.length, processes.length - 1);
    assert.ok(lost.every(({ reason }) => problem('conflict')(reason)));
    await here.refresh();
    assert.equal(here.organizations().filter(({ slug }) => slug === 'rival').length, 1);
  });

  test('a change counts even from a machine whose clock is behind', async () => {
    await organization('clocks');
    const anHourBehind: Clock = () => systemClock() - 3_600_000_000;
    const behind = await openDirectory(storage, { clock: anHourBehind });
    await change(updateOrganization('clocks', { name: 'second' }, undefined), behind);
    await here.refresh();
    assert.equal(findOrganization(here, 'clocks').name, 'second');
  });
});

describe('users', () => {
  const person = { email: 'x@example.com', name: 'X', role: 'member', passwordHash: noPassword };

  test('have a verified password, end with being disabled, and keep their address', async () => {
    const { id } = await organization('people');
    const input = {
      organization: 'people',
      email: 'Ann.Ö@Example.com',
      name: '山田',
      role: 'auditor',
      passwordHash: await hashPassword(password),
    };
    const made = await change(createUser(input));
    assert.equal(made.organizationId, id);
    // By ASCII case alone.
    assert.equal(made.emailLower, 'ann.Ö@example.com');
    const verifier = new PasswordVerifier();
    assert.equal(await verifier.verify(made.passwordHash, password), true);
    await refused('conflict', () => createUser({ ...input, email: 'ANN.Ö@example.COM' }));

    const another = await hashPassword('another horse battery');
    await refused('not_found', () => setPassword({ user: 'ann.ö@example.com' }, another));
    const { now: changed } = await change(setPassword({ user: 'ann.Ö@EXAMPLE.com' }, another));
    assert.equal(changed.credentialVersion, 2);
    assert.equal(await verifier.verify(changed.passwordHash, password), false);
    const { now: disabled } = await change(disableUser({ user: made.id }));
    assert.equal(disabled.credentialVersion, 3);
    assert.notEqual(disabled.disabledMicros, undefined);
    assert.deepEqual((await change(disableUser({ user: made.id }))).now, disabled);
    assert.deepEqual(listUsers(here, 'people'), [disabled]);
    await refused('conflict', () => createUser(input));
  });

  test('a password that was changed since a link was given is not changed by it', async () => {
    await organization('links');
    const { id, credentialVersion } = await change(createUser({ ...person, organization: 'links' }));
    const byLink = () => setPassword({ user: id }, noPassword, { credentialVersion, byLink: true });
    await change(byLink());
    await refused('unauthorized', byLink);
  });

  test('an address in two organizations needs the organization', async () => {
    await organization('two-a');
    await organization('two-b');
    const input = { ...person, email: 'both@example.com' };
    const a = await change(createUser({ ...input, organization: 'two-a' }));
    await change(createUser({ ...input, organization: 'two-b' }));
    assert.throws(() => findUser(here, { user: 'both@example.com' }), problem('malformed'));
    assert.deepEqual(findUser(here, { user: 'both@example.com', organization: 'two-a' }), a);
    assert.throws(() => findUser(here, { user: a.id, organization: 'two-b' }), problem('not_found'));
    await elsewhere.refresh();
    assert.equal(elsewhere.usersByEmail('both@example.com').length, 2);
    assert.equal(elsewhere.userById(a.id)?.email, a.email);
  });

  test('an address is given once in an organization, also when two processes ask for it together', async () => {
    await organization('same-address');
    const ask = (by: Directory) => change(createUser({ ...person, organization: 'same-address' }), by);
    const rivals = await Promise.allSettled([ask(here), ask(elsewhere)]);
    const lost = rivals.filter((rival) => rival.status === 'rejected');
    assert.ok(lost.length === 1 && problem('conflict')(lost[0]?.reason));
    await here.refresh();
    assert.equal(listUsers(here, 'same-address').length, 1);
  });

  test('bad input is refused', async () => {
    const wrong = [
      { email: 'x' },
      { email: 'a b@example.com' },
      { email: 'a@b@c' },
      { email: `${'a'.repeat(250)}@example.com` },
      { role: 'owner' },
      { name: '' },
    ];
    for (const bad of wrong)
      await refused(
        'malformed',
        () => createUser({ ...person, organization: 'people', ...bad }),
        JSON.stringify(bad),
      );
    await refused('not_found', () => createUser({ ...person, organization: 'nobody' }));
  });
});

describe('API keys', () => {
  before(() => organization('keys'));

  test('a key is stored as a digest only', async () => {
    const { apiKey, text } = await change(
      createApiKey({
        organization: 'keys',
        scopes: 'write, read',
        name: 'SIEM',
        expires: '90d',
        rateLimit: '300/15s',
      }),
    );
    assert.deepEqual(apiKey.scopes, ['read', 'write']);
    assert.deepEqual(apiKey.rateLimit, { requests: 300, windowMs: 15_000 });
    assert.equal(apiKey.expiresMicros, apiKey.createdMicros + 90 * 86_400_000_000);
    assert.deepEqual(findApiKey(here, apiKey.id), apiKey);
    assert.deepEqual(listApiKeys(here, 'keys'), [apiKey]);
    const rows = JSON.stringify(await storage.rows('SELECT * FROM journal'));
    assert.ok(rows.includes(apiKey.digest) && !rows.includes(text.slice(-43)));
  });

  test('what a key may not be is refused', async () => {
    const bad: Parameters<typeof createApiKey>[0][] = [
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
    for (const input of bad) await refused('malformed', () => createApiKey(input), JSON.stringify(input));
    await refused('not_found', () => createApiKey({ organization: 'none', scopes: 'read' }));
  });

  test('rotation keeps the old secret for the grace, revocation ends both', async () => {
    const works = async (text: string, now = systemClock()) => {
      await here.refresh();
      return authenticateKey(here, text, now) !== undefined;
    };
    const first = await change(createApiKey({ organization: 'keys', scopes: 'read' }), elsewhere);
    const { id } = first.apiKey;
    assert.equal(await works(first.text), true);
    const second = await change(rotateApiKey({ id }), elsewhere);
    assert.equal(second.apiKey.id, id);
    assert.equal(await works(first.text), true);
    assert.equal(await works(second.text), true);
    const graceEnds = second.apiKey.previousUntilMicros ?? 0;
    assert.ok(Math.abs(graceEnds - systemClock() - 86_400_000_000) < 3_600_000_000, 'a day');
    assert.equal(await works(first.text, graceEnds - 1), true);
    assert.equal(await works(first.text, graceEnds), false);
    const third = await change(rotateApiKey({ id }, '0'), elsewhere);
    assert.deepEqual(
      [await works(first.text), await works(second.text), await works(third.text)],
      [false, false, true],
    );
    const { now: revoked } = await change(revokeApiKey({ id }), elsewhere);
    assert.equal(await works(third.text), false);
    assert.equal((await change(revokeApiKey({ id }))).now.revokedMicros, revoked.revokedMicros);
    await refused('conflict', () => rotateApiKey({ id }));
  });

  test('an expired key cannot be rotated, an unknown one not found, a bad grace refused', async () => {
    const { apiKey } = await change(createApiKey({ organization: 'keys', scopes: 'read', expires: '1ms' }));
    const { id } = apiKey;
    await sleep(5);
    await refused('conflict', () => rotateApiKey({ id }));
    await refused('not_found', () => rotateApiKey({ id: 'nothing' }));
    await refused('malformed', () => rotateApiKey({ id }, 'soon'));
  });

  test('a key of another organization is as one that is not there', async () => {
    const { id: other } = await organization('other-keys');
    const { apiKey } = await change(createApiKey({ organization: 'keys', scopes: 'read' }));
    const reference = { id: apiKey.id, organization: other };
    for (const decide of [() => rotateApiKey(reference), () => revokeApiKey(reference)])
      await refused('not_found', decide);
    assert.equal(here.apiKey(apiKey.id)?.revokedMicros, undefined);
  });
});

describe('the directory', () => {
  before(() => organization('seen'));

  test('sees changes of another process within two seconds, and reports a change', async () => {
    const state = await openDirectory(storage);
    state.start();
    try {
      const version = state.version();
      const { id } = await change(createOrganization({ slug: 'seen-soon', name: 'S' }), elsewhere);
      const { apiKey, text } = await change(
        createApiKey({ organization: 'seen-soon', scopes: 'read' }),
        elsewhere,
      );
      const until = async (reached: () => boolean) => {
        const begun = performance.now();
        while (!reached()) {
          assert.ok(performance.now() - begun < patience(1_000), 'not within two seconds of a quiet machine');
          await sleep(20);
        }
      };
      await until(() => authenticateKey(state, text, systemClock()) !== undefined);
      assert.notEqual(state.version(), version);
      assert.equal(state.organizationById(id)?.slug, 'seen-soon');
      await change(revokeApiKey({ id: apiKey.id }), elsewhere);
      await until(() => authenticateKey(state, text, systemClock()) === undefined);
    } finally {
      await state.stop();
    }
  });

  test('a key works from the moment it was made, where the caller may wait for a look', async () => {
    const { text } = await change(createApiKey({ organization: 'seen', scopes: 'read' }), elsewhere);
    await sleep(limits.controlFreshMsMax + 10);
    assert.notEqual(await authenticateKeyFresh(here, text, systemClock), undefined);
  });

  test('an erased address means only its next user', async () => {
    const { id: organizationId } = await organization('erased');
    const input = { email: 'again@example.com', name: 'A', role: 'member', passwordHash: noPassword };
    const first = await change(createUser({ ...input, organization: 'erased' }));
    assert.equal(here.usersByEmail(input.email)[0]?.id, first.id);
    const planned = {
      id: '00000000-0000-4000-8000-00000000e7a5',
      organizationId,
      pseudonym: 'erased-7',
      operator: 'root',
      events: 0,
      digest: '',
      account: first.id,
    };
    await change(beginErasure(planned, []), elsewhere);
    const second = await change(createUser({ ...input, organization: 'erased' }), elsewhere);
    await here.refresh();
    const idsOf = (email: string) => here.usersByEmail(email).map(({ id }) => id);
    assert.deepEqual([idsOf(input.email), idsOf('erased-7@erased.invalid')], [[second.id], [first.id]]);
  });

  test('nothing new changes nothing', async () => {
    await here.refresh();
    const version = here.version();
    await here.refresh();
    await Promise.all([here.refresh(), here.refresh(), here.freshen(0)]);
    assert.equal(here.version(), version);
  });

  test('knows ended sessions until they would have expired', async () => {
    const now = systemClock();
    await organization('sessions-end');
    const user = await change(
      createUser({
        organization: 'sessions-end',
        email: 'e@example.com',
        name: 'E',
        role: 'member',
        passwordHash: noPassword,
      }),
    );
    await change(endSession({ id: 'ended', user, expiresMicros: now + 60_000_000 }), elsewhere);
    await change(endSession({ id: 'long-gone', user, expiresMicros: now - 1 }), elsewhere);
    await here.refresh();
    assert.deepEqual([here.sessionEnded('ended'), here.sessionEnded('long-gone')], [true, false]);
  });

  test('keeps the last good state while the engine does not answer', async () => {
    let down = false;
    const flaky: Storage = {
      ...storage,
      readRows: (...query) => (down ? Promise.reject(new Error('down')) : storage.readRows(...query)),
    };
    const state = await openDirectory(flaky);
    const before = state.organizations();
    down = true;
    await assert.rejects(state.refresh());
    await state.freshen(0);
    assert.deepEqual(state.organizations(), before);
    assert.ok(before.length > 0);
    down = false;
    await state.refresh();
  });

  test('the reads of a start may take as long as any other read', async () => {
    /** Pretends to be an engine that takes ten seconds for each answer. */
    const slow: Storage = {
      ...storage,
      readRows: (query, parameters, options = {}) =>
        (options.timeoutMs ?? Infinity) < 10_000
          ? Promise.reject(new EngineError('timeout', 'no answer within the time'))
          : storage.readRows(query, parameters, options),
    };
    const state = await openDirectory(slow);
    assert.notEqual(state.organizationBySlug('seen'), undefined);
    await assert.rejects(state.refresh(), EngineError, 'later ones are tried again soon');
  });
});

describe('two processes that change the same at once', () => {
  const rounds = 6;
  const person = { name: 'U', role: 'member', passwordHash: noPassword };

  test('a disabled user whose role changes is both', async () => {
    await organization('both-user');
    for (let round = 0; round < rounds; round += 1) {
      const input = { ...person, organization: 'both-user', email: `u${round}@acme.example` };
      const { id } = await change(createUser(input));
      await Promise.all([
        change(disableUser({ user: id })),
        change(changeRole({ user: id }, 'auditor'), elsewhere),
      ]);
      await here.refresh();
      const user = findUser(here, { user: id });
      assert.equal(user.role, 'auditor');
      assert.ok(user.disabledMicros !== undefined, `round ${round}: the user has access again`);
    }
  });

  test('each of two changes of the password ends the sessions of the other', async () => {
    await organization('both-password');
    const input = { ...person, organization: 'both-password', email: 'p@acme.example' };
    const { id } = await change(createUser(input));
    const changed = await Promise.all([
      change(setPassword({ user: id }, 'hash 1')),
      change(setPassword({ user: id }, 'hash 2'), elsewhere),
    ]);
    await here.refresh();
    const last = findUser(here, { user: id });
    const lost = changed.filter(({ now }) => now.passwordHash !== last.passwordHash);
    assert.equal(lost.length, 1);
    assert.ok(lost.every(({ now }) => now.credentialVersion < last.credentialVersion));
  });

  test('a key that is revoked while it is rotated stays revoked', async () => {
    await organization('both-key');
    for (let round = 0; round < rounds; round += 1) {
      const { apiKey } = await change(createApiKey({ organization: 'both-key', scopes: 'write' }));
      const { id } = apiKey;
      const [revoked, rotated] = await Promise.allSettled([
        change(revokeApiKey({ id })),
        change(rotateApiKey({ id }), elsewhere),
      ]);
      assert.equal(revoked.status, 'fulfilled');
      assert.ok(rotated.status === 'fulfilled' || problem('conflict')(rotated.reason));
      await here.refresh();
      assert.notEqual(here.apiKey(id)?.revokedMicros, undefined, `round ${round}: the key is good again`);
    }
  });

  test('a hold that is placed while the retention changes stays, and the change is made or refused', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { id, slug } = await organization(`both-hold-${round}`);
      const preview = await previewPolicy(storage, policyOf(here, id), { days: 30 }, systemClock());
      const [held, followed] = await Promise.allSettled([
        change(placeHold(id, 'Doe v. Acme')),
        change(followSetting({ id, slug }, preview), elsewhere),
      ]);
      assert.equal(held.status, 'fulfilled');
      assert.ok(followed.status === 'fulfilled' || problem('conflict')(followed.reason));
      await here.refresh();
      const policy = policyOf(here, id);
      assert.equal(policy.days, followed.status === 'fulfilled' ? 30 : undefined);
      assert.ok(policy.heldMicros !== undefined, `round ${round}: the hold is lost`);
    }
  });

  test('a change that was previewed for another policy is refused', async () => {
    const { id, slug } = await organization('previewed-before');
    const preview = await previewPolicy(storage, policyOf(here, id), { days: 30 }, systemClock());
    const { now: held } = await change(placeHold(id, 'Doe v. Acme'));
    const release = await previewRelease(storage, held, undefined, systemClock());
    await refused('conflict', () => followSetting({ id, slug }, preview));
    await refused('conflict', () => updateOrganization(slug, { retention: '30d' }, preview));
    assert.deepEqual(policyOf(here, id), held);
    const again = await previewPolicy(storage, held, { days: 30 }, systemClock());
    const { now } = await change(followSetting({ id, slug }, again));
    assert.deepEqual([now.days, now.heldMicros], [30, held.heldMicros]);
    await refused('conflict', () => releaseHold({ id, slug }, 'settled', release));
  });
});

describe('limits of an organization', () => {
  /** Control data with many records, without a journal. */
  class Filled extends ControlState {
    add(...parts: readonly Part[]): void {
      this.apply({ parts });
    }
  }

  test('keys that are not revoked are counted, and users whether they are disabled or not', async () => {
    const { result: acme, parts } = createOrganization({ slug: 'full', name: 'F' })(here, now());
    const state = new Filled();
    state.add(...parts);
    const makeKey = () => createApiKey({ organization: 'full', scopes: 'read' })(state, now());
    for (let n = 0; n < 999; n += 1) state.add(...makeKey().parts);
    const { result, parts: last } = makeKey();
    state.add(...last);
    assert.throws(makeKey, problem('conflict'));
    state.add(...revokeApiKey({ id: result.apiKey.id })(state, now()).parts);
    makeKey();
    const person = (n: number) => ({ email: `u${n}@x.example`, name: 'U', role: 'member' });
    for (let n = 0; n < 20_000; n += 1)
      state.add(...newUser({ ...person(n), passwordHash: noPassword })(acme.id, 1).parts);
    const more = { ...person(20_000), passwordHash: noPassword, organization: 'full' };
    assert.throws(() => createUser(more)(state, now()), problem('conflict'));
    state.add(...disableUser({ user: 'u1@x.example' })(state, now()).parts);
    assert.throws(() => createUser(more)(state, now()), problem('conflict'));
  });

  const now = () => ({ micros: systemClock(), place: 1 });
});

test('where events of changes wait that cannot be recorded, nothing is changed', async () => {
  let waiting = 1_000;
  const state = await openDirectory(storage, { waiting: () => waiting });
  const { place } = state;
  const ask = () => change(createOrganization({ slug: 'waits', name: 'W' }), state);
  await assert.rejects(ask(), problem('unavailable'));
  assert.deepEqual([state.place, state.organizationBySlug('waits')], [place, undefined]);
  waiting -= 1;
  await ask();
});

test('codes of changes are codes of the registry', () => {
  for (const code of Object.values(changeCodes)) assert.ok(activityTitles.has(code), String(code));
});
