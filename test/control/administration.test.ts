import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import type { Decide } from '../../src/control/decision.ts';
import type { Directory } from '../../src/control/directory.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { changeProvisioned } from '../../src/control/provisioning.ts';
import { defaultSignOn } from '../../src/control/default-sign-on.ts';
import { signOn } from '../../src/control/sign-on.ts';
import { changeRole, createUser, disableUser, listUsers, type User } from '../../src/control/users.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { sharedEngine } from '../support/shared.ts';

/** Of two independent processes. */
let one: Directory;
let other: Directory;

before(async () => {
  const { storage } = await sharedEngine();
  one = await openDirectory(storage);
  other = await openDirectory(storage);
});

const change = <T>(decide: Decide<T>, by = one): Promise<T> => by.change(operatorCall, decide);

test('of the last two administrators, whom two processes take away at once, one stays', async () => {
  const slug = 'last-two';
  const { id } = await change(createOrganization({ slug, name: slug }));
  const settings = { ...defaultSignOn(id), roleClaim: 'role', defaultRole: 'member' as const };
  const identityOf = ({ email }: User) => ({ issuer: 'https://idp.example', subject: email, email });
  const vouched = { emailVerified: true, name: undefined, claims: {} };
  const ways: readonly ((user: User) => Decide<unknown>)[] = [
    (user) => changeRole({ user: user.id, organization: id }, 'member'),
    (user) => disableUser({ user: user.id, organization: id }),
    (user) => changeProvisioned(id, user.id, { active: false, role: 'member', name: 'Another' }),
    (user) => signOn(settings, { ...identityOf(user), ...vouched }),
  ];
  const add = (email: string) =>
    change(createUser({ organization: slug, email, name: email, role: 'admin', passwordHash: noPassword }));
  const pair = [await add('a@x.example'), await add('b@x.example')] as const;
  for (const take of ways) {
    const outcomes = await Promise.allSettled([change(take(pair[0])), change(take(pair[1]), other)]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.ok(
          outcome.reason instanceof Problem && ['conflict', 'forbidden'].includes(outcome.reason.code),
          String(outcome.reason),
        );
    await one.refresh();
    const users = listUsers(one, slug);
    const left = users.filter(({ role, disabledMicros }) => role === 'admin' && disabledMicros === undefined);
    assert.equal(left.length, 1, String(take));
    const refused = pair.filter((_, at) => outcomes[at]?.status === 'rejected').map((user) => user.id);
    assert.deepEqual(
      left.map((user) => user.id),
      refused,
      'who was refused has lost nothing',
    );
    for (const { id: user } of pair)
      await change(changeProvisioned(id, user, { active: true, role: 'admin', name: 'A name' }));
  }
});
