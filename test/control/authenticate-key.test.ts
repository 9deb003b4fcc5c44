import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ApiKey } from '../../src/control/api-keys.ts';
import {
  authenticateKey,
  authenticateKeyFresh,
  type KeyDirectory,
} from '../../src/control/authenticate-key.ts';
import { keyDigest, keyId, newKeyId, newKeyText } from '../../src/control/key-text.ts';
import type { Organization } from '../../src/control/organizations.ts';

const organization: Organization = {
  id: '11111111-1111-4111-8111-111111111111',
  slug: 'acme',
  name: 'Acme',
  retentionDays: undefined,
  receipts: 'own',
  createdMicros: 0,
  deletedMicros: undefined,
};
const id = newKeyId();
const text = newKeyText(id);
const oldText = newKeyText(id);
const key: ApiKey = {
  id,
  organizationId: organization.id,
  name: '',
  scopes: ['read'],
  digest: keyDigest(text),
  previousDigest: keyDigest(oldText),
  previousUntilMicros: 1000,
  rateLimit: undefined,
  createdMicros: 0,
  expiresMicros: 2000,
  revokedMicros: undefined,
};

function directoryOf(one: ApiKey, organizations = [organization]): KeyDirectory {
  return {
    apiKey: (wanted) => (wanted === one.id ? one : undefined),
    organizationById: (wanted) => organizations.find((known) => known.id === wanted),
  };
}
const good = (one: ApiKey, presented: string | undefined, now: number) =>
  authenticateKey(directoryOf(one), presented, now) !== undefined;

describe('the text of a key', () => {
  test('has the form of the contract and its id in it', () => {
    assert.match(text, /^ak_[0-9a-z]{16}_[A-Za-z0-9_-]{43}$/);
    assert.equal(keyId(text), id);
    assert.equal(new Set(Array.from({ length: 1000 }, newKeyId)).size, 1000);
  });

  test('no other text has an id', () => {
    for (const wrong of [
      '',
      'ak_',
      text.slice(1),
      `${text}x`,
      text.slice(0, -1),
      text.toUpperCase(),
      ` ${text}`,
    ]) {
      assert.equal(keyId(wrong), undefined, wrong);
    }
    fc.assert(fc.property(fc.string(), (any) => authenticateKey(directoryOf(key), any, 0) === undefined));
  });
});

describe('a key', () => {
  test('is good with its secret and with no other', () => {
    assert.equal(good(key, text, 0), true);
    assert.equal(good(key, newKeyText(id), 0), false);
    assert.equal(good(key, newKeyText(newKeyId()), 0), false);
    assert.equal(good(key, undefined, 0), false);
  });

  test('is good with the secret before it until the grace ends', () => {
    assert.equal(good(key, oldText, 999), true);
    assert.equal(good(key, oldText, 1000), false);
    assert.equal(good(key, text, 1000), true);
    assert.equal(good({ ...key, previousUntilMicros: undefined }, oldText, 0), false);
  });

  test('ends when it expires and when it is revoked, old secret included', () => {
    assert.equal(good(key, text, 1999), true);
    assert.equal(good(key, text, 2000), false);
    assert.equal(good({ ...key, expiresMicros: 500 }, oldText, 600), false);
    assert.equal(good({ ...key, revokedMicros: 1 }, text, 0), false);
    assert.equal(good({ ...key, revokedMicros: 1 }, oldText, 0), false);
  });

  test('of an organization that is not there is not good; one of all organizations is', () => {
    assert.equal(authenticateKey(directoryOf(key, []), text, 0), undefined);
    assert.notEqual(
      authenticateKey(directoryOf({ ...key, organizationId: undefined }, []), text, 0),
      undefined,
    );
  });

  test('with a damaged digest is never valid', () => {
    for (const digest of ['', 'x', '0'.repeat(64), `${'0'.repeat(63)}é`]) {
      assert.equal(good({ ...key, digest, previousDigest: digest }, text, 0), false);
    }
  });
});

test('only a failure with the form of a key looks at the engine again', async () => {
  let looks = 0;
  let known: ApiKey | undefined;
  const directory = {
    apiKey: (wanted: string) => (known?.id === wanted ? known : undefined),
    organizationById: () => organization,
    freshen: async () => {
      looks += 1;
      known = key;
    },
  };
  assert.equal(await authenticateKeyFresh(directory, 'no key', () => 0), undefined);
  assert.equal(await authenticateKeyFresh(directory, undefined, () => 0), undefined);
  assert.equal(looks, 0);
  assert.equal((await authenticateKeyFresh(directory, text, () => 0))?.id, id);
  assert.equal(looks, 1);
  assert.equal((await authenticateKeyFresh(directory, text, () => 0))?.id, id);
  assert.equal(looks, 1);
});
