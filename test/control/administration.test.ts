import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { Administration } from '../../src/control/administration.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { createUser, listUsers, type User } from '../../src/control/users.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
/** Of two processes that know nothing of each other. */
let one: Administration;
let other: Administration;

before(async () => {
  engine = await sharedEngine();
  one = new Administration(engine.storage);
  other = new Administration(engine.storage);
});

test('of the last two administrators, whom two processes take away at once, one stays', async () => {
  const slug = 'last-two';
  const { id } = await createOrganization(engine.storage, { slug, name: slug });
  const ways: readonly ((by: Administration, user: User) => Promise<unknown>)[] = [
    (by, user) => by.changeRole(id, user.id, 'member'),
    (by, user) => by.disableUser(id, user.id),
    (by, user) => by.changeProvisioned(id, user.id, { active: false, role: 'member', name: 'Another' }),
  ];
  const add = (email: string) =>
    createUser(engine.storage, {
      organization: slug,
      email,
      name: email,
      role: 'admin',
      password: 'correct horse battery',
    });
  const pair = await Promise.all([add('a@x.example'), add('b@x.example')]);
  for (const take of ways) {
    const outcomes = await Promise.allSettled([take(one, pair[0]), take(other, pair[1])]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.ok(
          outcome.reason instanceof Problem && outcome.reason.code === 'conflict',
          String(outcome.reason),
        );
    const users = await listUsers(engine.storage, slug);
    const left = users.filter(({ role, disabledMicros }) => role === 'admin' && disabledMicros === undefined);
    assert.ok(left.length > 0, String(take));
    const refused = pair.filter((_, at) => outcomes[at]?.status === 'rejected').map((user) => user.id);
    assert.deepEqual(
      left.map((user) => user.id).toSorted(),
      refused.toSorted(),
      'who was refused has lost nothing',
    );
    for (const { id: user } of pair)
      await one.changeProvisioned(id, user, { active: true, role: 'admin', name: 'A name' });
  }
});
