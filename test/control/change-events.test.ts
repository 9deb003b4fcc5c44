import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ApiKey } from '../../src/control/api-keys.ts';
import {
  changeOfOrganization,
  changeOfUser,
  changesOfKey,
  eventOfChange,
  sourceEvent,
  sourceEventOfChange,
  userActor,
} from '../../src/control/change-events.ts';
import type { Organization } from '../../src/control/organizations.ts';
import type { User } from '../../src/control/users.ts';
import { mapText } from '../ocsf/arbitrary.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';

const now = 1_790_000_000_000_001;
const organization: Organization = {
  id: '0b7f2a50-0000-4000-8000-000000000001',
  slug: 'acme',
  name: 'Acme',
  retentionDays: undefined,
  receipts: 'own',
  createdMicros: now,
  deletedMicros: undefined,
};
const user: User = {
  id: '0b7f2a50-0000-4000-8000-000000000002',
  organizationId: organization.id,
  email: 'Ann@acme.test',
  emailLower: 'ann@acme.test',
  name: 'Ann',
  role: 'admin',
  passwordHash: '$argon2id$hash',
  credentialVersion: 1,
  createdMicros: now,
  changedMicros: now,
  disabledMicros: undefined,
};
const key: ApiKey = {
  id: '0123456789abcdef',
  organizationId: organization.id,
  name: '',
  scopes: ['read'],
  digest: 'd'.repeat(64),
  previousDigest: 'e'.repeat(64),
  previousUntilMicros: now + 1,
  rateLimit: undefined,
  createdMicros: now,
  expiresMicros: now + 2,
  revokedMicros: undefined,
};

test('a key without a name is named by its id; one of all organizations has no event', () => {
  const [change] = changesOfKey(key, 'apiKeyRotated');
  assert.deepEqual(change?.target, { id: key.id, name: key.id, type: 'api_key' });
  assert.deepEqual(change.extra, {
    scopes: ['read'],
    expires_at: '2026-09-21T14:13:20.000003Z',
    previous_valid_until: '2026-09-21T14:13:20.000002Z',
  });
  assert.deepEqual(changesOfKey({ ...key, organizationId: undefined }, 'apiKeyRevoked'), []);
});

test('an event of changed settings has the new and the different old ones', () => {
  const changed = { ...organization, retentionDays: 0, name: 'Acme 2' };
  assert.deepEqual(changeOfOrganization(changed, 'organizationUpdated', organization).extra, {
    name: 'Acme 2',
    retention: 'off',
    receipts: 'own',
    previous: { name: 'Acme', retention: 'default' },
  });
});

test('an operator’s and a user’s change differ in who and where from, and in nothing else', () => {
  const change = changeOfUser(user, 'passwordChanged');
  const byOperator = sourceEventOfChange(change, 'root@host', now) as { message: object };
  const flowId = '0b7f2a50-0000-4000-8000-00000000f10e';
  const origin = { ip: '::1', port: '0', flowId };
  const byUser = sourceEvent(eventOfChange(change, userActor(user)), now, origin) as { message: object };
  assert.deepEqual(byOperator, {
    ...byUser,
    message: {
      timestamp: '2026-09-21T14:13:20.000001Z',
      actor: { name: 'root@host', type: 'App/System' },
      action: 1010,
      target: { id: user.id, name: 'Ann@acme.test', type: 'user' },
      result: { title: 'OK', code: 200 },
      extra: { role: 'admin' },
      org: organization.id,
    },
  });
  const { actor, remote, flow_id, ...shared } = byUser.message as Record<string, unknown>;
  assert.deepEqual([actor, remote, flow_id], [userActor(user), { ip: '::1' }, flowId]);
  assert.deepEqual(byOperator.message, { ...shared, actor: { name: 'root@host', type: 'App/System' } });
});

test('every event is one that ingest takes, and holds no digest', () => {
  const mapper = new Mapper({ appName: 'Test' });
  const words = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
    .filter((text) => !text.includes('\0'));
  const origin = fc.record({
    ip: fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant('fe80::1%eth0')),
    port: fc.integer({ min: 0, max: 65_535 }).map(String),
    flowId: fc.uuid(),
  });
  fc.assert(
    fc.property(words, words, origin, (name, email, from) => {
      const someone = { ...user, name, email };
      const changes = [
        ...changesOfKey({ ...key, name }, 'apiKeyCreated'),
        changeOfUser(someone, 'userCreated'),
        changeOfOrganization({ ...organization, name }, 'organizationCreated'),
      ];
      for (const change of changes) {
        const text = JSON.stringify(sourceEvent(eventOfChange(change, userActor(someone)), now, from));
        const mapped = mapText(mapper, text, (id) => ({ id: id ?? '', retentionDays: undefined }));
        if (typeof mapped === 'string') assert.fail(mapped);
        assert.equal(mapped.org, organization.id);
        for (const secret of [key.digest, key.previousDigest, user.passwordHash])
          assert.ok(!text.includes(secret));
      }
    }),
    { numRuns: 50 },
  );
});
