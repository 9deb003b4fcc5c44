import { strict as assert } from 'node:assert';
import { before, beforeEach, describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Decide } from '../../src/control/decision.ts';
import type { Directory } from '../../src/control/directory.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { SealedSecrets } from '../../src/control/sealed-secret.ts';
import { type Identity, signOn, type SignOnRefusal, SignOnRefused } from '../../src/control/sign-on.ts';
import {
  secretPurpose,
  setPasswords,
  type SignOnInput,
  signOnProven,
  type SignOnSettings,
  updateSignOn,
} from '../../src/control/sign-on-settings.ts';
import { createUser, type Role } from '../../src/control/users.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { sharedEngine } from '../support/shared.ts';

const secrets = new SealedSecrets('s'.repeat(32));
let directory: Directory;
let slug = '';
let count = 0;

before(async () => {
  directory = await openDirectory((await sharedEngine()).storage);
});
beforeEach(async () => {
  count += 1;
  slug = `control-sign-on-${count}`;
  await change(createOrganization({ slug, name: slug }));
  await set({ issuer: 'https://idp.example', clientId: 'c', clientSecret: 'the secret' });
});

const change = <T>(decide: Decide<T>, by = directory): Promise<T> => by.change(operatorCall, decide);

async function set(input: SignOnInput): Promise<SignOnSettings> {
  return (await change(updateSignOn(slug, input, secrets))).now;
}

function identity(more: Partial<Identity> = {}): Identity {
  const usual = {
    issuer: 'https://idp.example',
    subject: 'ann',
    email: 'ann@x.example',
    name: 'Ann',
    claims: {},
  };
  return { emailVerified: true, ...usual, ...more };
}

const add = (email: string, role: Role) =>
  change(createUser({ organization: slug, email, name: email, role, passwordHash: noPassword }));

async function refused(reason: SignOnRefusal, settings: SignOnSettings, who: Identity): Promise<void> {
  await assert.rejects(change(signOn(settings, who)), (error: unknown) => {
    assert.ok(error instanceof SignOnRefused, String(error));
    assert.equal(error.reason, reason);
    return true;
  });
}

const roles = { roleClaim: 'realm.groups', adminValues: 'a', auditorValues: 'b,c', memberValues: 'd' };
const withGroups = (...groups: unknown[]) => ({ claims: { realm: { groups } } });

describe('roles by a claim', () => {
  test('the highest one counts, wherever the claim is; then the default; then none', async () => {
    await add('ann@x.example', 'admin');
    const settings = await set({ ...roles, create: 'on' });
    const bob = { subject: 'bob', email: 'bob@x.example' };
    const roleBy = async (more: Partial<Identity>, now = settings) =>
      (await change(signOn(now, identity({ ...bob, ...more })))).user.role;
    assert.equal(await roleBy(withGroups('d', 'c', 'x')), 'auditor');
    assert.equal(await roleBy(withGroups('d', 'a')), 'admin');
    assert.equal(
      await roleBy({ claims: { 'realm.groups': 'd' } }),
      'member',
      'a claim of this very name, a text',
    );
    for (const claims of [
      {},
      withGroups().claims,
      { realm: 'a' },
      { realm: { groups: { a: true } } },
      { realm: { groups: [['a']] } },
    ])
      await refused('role', settings, identity({ ...bob, claims }));
    assert.equal(await roleBy({}, await set({ defaultRole: 'auditor' })), 'auditor');
  });

  test('the last administrator keeps the role, with a reason', async () => {
    await add('ann@x.example', 'admin');
    const settings = await set(roles);
    await refused('last_admin', settings, identity(withGroups('d')));
    await add('bob@x.example', 'admin');
    assert.equal((await change(signOn(settings, identity(withGroups('d'))))).user.role, 'member');
  });

  test('without a claim roles are those here', async () => {
    await add('ann@x.example', 'auditor');
    const settings = await set({ create: 'on', defaultRole: 'admin' });
    assert.equal((await change(signOn(settings, identity()))).user.role, 'auditor');
    const made = await change(
      signOn(settings, identity({ subject: 'new', email: 'new@x.example', name: '\u0000 ' })),
    );
    assert.deepEqual([made.user.role, made.user.name, made.created], ['admin', 'new@x.example', true]);
    const long = { subject: 'long', email: 'long@x.example', name: `${'x'.repeat(199)}😀` };
    assert.equal((await change(signOn(settings, identity(long)))).user.name, 'x'.repeat(199));
  });
});

describe('who an identity is', () => {
  test('an address without a claim of verification counts if trusted; an unverified one never', async () => {
    await add('ann@x.example', 'member');
    const strict = await set({});
    await refused('unverified', strict, identity({ emailVerified: undefined }));
    const trusting = await set({ trustEmail: 'on' });
    await refused('unverified', trusting, identity({ emailVerified: false }));
    await refused('unverified', trusting, identity({ email: undefined }));
    // Letters that look like those of an address, and equal them in lower case.
    for (const email of ['\u212aate@x.example', 'ann@\uff45xample.test'])
      await refused('unverified', trusting, identity({ email, emailVerified: true }));
    assert.ok((await change(signOn(trusting, identity({ emailVerified: undefined })))).linked);
  });

  test('an address of another subject is refused, until the operator allows new links', async () => {
    await add('ann@x.example', 'member');
    const settings = await set({});
    await change(signOn(settings, identity()));
    await refused('linked', settings, identity({ subject: 'eve' }));
    assert.ok(!(await change(signOn(settings, identity({ email: undefined })))).linked);
    const anew = await set({ relink: true });
    assert.ok((await change(signOn(anew, identity({ subject: 'ann again' })))).linked);
    await refused('linked', anew, identity());
  });

  test('without linking an address finds no earlier user; linked and created ones continue', async () => {
    await add('ann@x.example', 'member');
    assert.ok((await change(signOn(await set({}), identity()))).linked);
    await add('bob@x.example', 'admin');
    const bob = identity({ subject: 'bob', email: 'bob@x.example' });
    const off = await set({ linkEmail: 'off', create: 'on' });
    await refused('unlinked', off, bob);
    assert.ok(!(await change(signOn(off, identity()))).linked);
    const cal = identity({ subject: 'cal', email: 'cal@x.example' });
    assert.ok((await change(signOn(off, cal))).created);
    assert.ok(!(await change(signOn(off, cal))).created);
    await refused('unlinked', await set({ relink: true }), identity({ subject: 'ann again' }));
    assert.ok((await change(signOn(await set({ linkEmail: 'on' }), bob))).linked);
  });

  test('the same issuer and subject are another person in another organization', async () => {
    const settings = await set({ create: 'on' });
    const { user } = await change(signOn(settings, identity()));
    const first = slug;
    slug = `${first}-b`;
    await change(createOrganization({ slug, name: slug }));
    const other = await set({ issuer: 'https://idp.example', clientId: 'c', clientSecret: '' });
    await refused('unknown', other, identity());
    assert.notEqual((await change(signOn(await set({ create: 'on' }), identity()))).user.id, user.id);
  });

  test('two first sign-ins at once make one user', async () => {
    const settings = await set({ create: 'on' });
    const both = await Promise.all([
      change(signOn(settings, identity())),
      change(signOn(settings, identity()), await openDirectory((await sharedEngine()).storage)),
    ]);
    assert.equal(both[0]?.user.id, both[1]?.user.id);
    assert.equal(both.filter(({ created }) => created).length, 1);
  });
});

describe('settings', () => {
  test('a connection proves itself, and another one has to do so anew', async () => {
    const settings = await set({});
    const off = () => change(setPasswords(slug, { passwords: 'off' }));
    await assert.rejects(off(), /no administrator has signed in/);
    await change(signOnProven(settings));
    assert.equal((await off()).now.passwords, false);
    await assert.rejects(set({ provider: 'off' }), /nobody could sign in/);
    await set({ adminValues: 'x' });
    assert.ok(directory.signOnOf(settings.id).provenMicros !== undefined);
    const other = await set({ issuer: 'https://other.example', clientSecret: 'z' });
    assert.equal(other.provenMicros, undefined);
    // A proof of the earlier connection does not count.
    await change(signOnProven(settings));
    assert.equal(directory.signOnOf(settings.id).provenMicros, undefined);
  });

  test('a secret is stored sealed, for this organization, issuer and client alone', async () => {
    const settings = await set({});
    assert.ok(!JSON.stringify(settings).includes('the secret'));
    assert.equal(secrets.open(settings.clientSecret, secretPurpose(settings)), 'the secret');
    const moved = { ...settings, issuer: 'https://evil.example' };
    assert.equal(secrets.open(settings.clientSecret, secretPurpose(moved)), undefined);
    assert.equal(
      new SealedSecrets('t'.repeat(32)).open(settings.clientSecret, secretPurpose(settings)),
      undefined,
    );
  });
});

test('a sealed secret opens unchanged, and not at all with a changed bit', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), (text, purpose, at) => {
      const sealed = secrets.seal(text, purpose);
      assert.equal(secrets.open(sealed, purpose), text);
      const bytes = Buffer.from(sealed, 'base64url');
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      assert.equal(secrets.open(bytes.toString('base64url'), purpose), undefined);
      assert.equal(secrets.open(sealed, `${purpose}x`), undefined);
      assert.equal(secrets.open(sealed.slice(0, 20), purpose), undefined);
    }),
  );
});
