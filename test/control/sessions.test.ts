import { strict as assert } from 'node:assert';
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Decide } from '../../src/control/decision.ts';
import type { Directory } from '../../src/control/directory.ts';
import { createOrganization, type Organization } from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { endSession, type Session, Sessions } from '../../src/control/sessions.ts';
import { createUser, disableUser, setPassword, type User } from '../../src/control/users.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

const secret = 'a secret of the test that is long enough';
const startMicros = 1_790_000_000_000_000;
const ttlMs = 3_600_000;

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The same signature bytes with another last letter, which has unused bits. */
function twinOf(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return signature.slice(0, -1) + (alphabet[alphabet.indexOf(signature.at(-1) ?? '') ^ 1] ?? '');
}

describe('sessions', () => {
  let engine: SharedEngine;
  let directory: Directory;
  let organization: Organization;
  let other: Organization;
  let now = startMicros;
  const clock = (): number => now;

  const open = (over: { secret?: string } = {}) => new Sessions({ secret, ttlMs, clock, directory, ...over });

  const change = <T>(decide: Decide<T>): Promise<T> => directory.change(operatorCall, decide);
  const newUser = (name: string): Promise<User> =>
    change(
      createUser({
        organization: 'acme',
        email: `${name}@acme.example`,
        name,
        role: 'auditor',
        passwordHash: noPassword,
      }),
    );
  const openElsewhere = () => openDirectory(engine.storage, { clock, expiryMicros: clock });

  before(async () => {
    engine = await sharedEngine();
    directory = await openElsewhere();
    organization = await change(createOrganization({ slug: 'acme', name: 'Acme' }));
    other = await change(createOrganization({ slug: 'globex', name: 'Globex' }));
  });

  function resign(session: Session, change: { header?: object; claims?: object; key?: string }): string {
    const [header, claims] = session.token
      .split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString())) as [object, object];
    const signed = `${encode({ ...header, ...change.header })}.${encode({ ...claims, ...change.claims })}`;
    return `${signed}.${createHmac('sha256', change.key ?? secret)
      .update(signed)
      .digest('base64url')}`;
  }

  it('are good until they expire, to the second', async () => {
    const user = await newUser('ann');
    const session = await open().issue(user, organization);
    const claims = JSON.parse(
      Buffer.from(session.token.split('.')[1] as string, 'base64url').toString(),
    ) as Record<string, unknown>;
    assert.deepEqual(Object.keys(claims).sort(), ['exp', 'iat', 'jti', 'org', 'role', 'sub', 'ver']);
    const found = await open().verify(session.token);
    assert.equal(found?.user.id, user.id);
    assert.equal(found?.organization.id, organization.id);
    now = startMicros + ttlMs * 1000 - 1;
    assert.notEqual(await open().verify(session.token), undefined);
    now = startMicros + ttlMs * 1000;
    assert.equal(await open().verify(session.token), undefined);
    now = startMicros;
  });

  it('are refused when forged in any way', async () => {
    const user = await newUser('bob');
    const session = await open().issue(user, organization);
    assert.notEqual(await open().verify(resign(session, {})), undefined, 'the test signs rightly');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const rsaSigned = `${encode({ alg: 'RS256' })}.${session.token.split('.')[1]}`;
    const [header, claims, signature] = session.token.split('.') as [string, string, string];
    const forged: Record<string, string> = {
      'another key': resign(session, { key: 'another key that is as long as needed' }),
      'alg none': `${encode({ alg: 'none' })}.${claims}.`,
      'alg none with the signature': `${encode({ alg: 'none' })}.${claims}.${signature}`,
      'alg HS512 named': resign(session, { header: { alg: 'HS512' } }),
      'HS384 signed': ((signed) =>
        `${signed}.${createHmac('sha384', secret).update(signed).digest('base64url')}`)(
        `${encode({ alg: 'HS384' })}.${claims}`,
      ),
      RS256: `${rsaSigned}.${createSign('sha256').update(rsaSigned).sign(privateKey, 'base64url')}`,
      'altered role': `${header}.${encode({ ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), role: 'admin' })}.${signature}`,
      'cut short': session.token.slice(0, -2),
      'no signature': `${header}.${claims}.`,
      empty: '',
      'not a token': 'service',
      'another organization': resign(session, { claims: { org: other.id } }),
      'another version of the credentials': resign(session, { claims: { ver: 99 } }),
      'no such user': resign(session, { claims: { sub: '00000000-0000-4000-8000-000000000000' } }),
      'no expiry': resign(session, { claims: { exp: undefined } }),
      'critical header': resign(session, { header: { crit: ['x'], x: 1 } }),
      'another spelling of the header': resign(session, { header: { typ: 'jwt' } }),
      'more in the header': resign(session, { header: { kid: '1' } }),
      // The same bytes for a lax decoder.
      'bits that mean nothing': `${header}.${claims}.${twinOf(signature)}`,
      'a blank': `${header}.${claims.slice(0, 5)} ${claims.slice(5)}.${signature}`,
      padding: `${session.token}=`,
      'four parts': `${session.token}.x`,
      'another order': `${claims}.${header}.${signature}`,
    };
    for (const alg of ['None', 'nOnE', '', 'hs256', 'HS384', 'ES256', 'dir'])
      forged[`alg ${alg}`] = resign(session, { header: { alg } });
    const said = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
    for (const name of Object.keys(said).filter((claim) => claim !== 'role'))
      for (const value of [undefined, null, {}, [said[name]], true])
        forged[`${name} ${JSON.stringify(value)}`] = resign(session, { claims: { [name]: value } });
    for (const [what, token] of Object.entries(forged))
      assert.equal(await open().verify(token), undefined, what);
    assert.equal(
      await open({ secret: 'another secret of the same length, yes' }).verify(session.token),
      undefined,
    );
  });

  it('end with logout, here at once, elsewhere after a refresh, and after a restart', async () => {
    const user = await newUser('cid');
    const sessions = open();
    const [first, second] = [
      await sessions.issue(user, organization),
      await sessions.issue(user, organization),
    ];
    const elsewhere = await openElsewhere();
    await change(endSession(first));
    assert.equal(await sessions.verify(first.token), undefined);
    assert.notEqual(await sessions.verify(second.token), undefined, 'another session of the user goes on');
    const remote = new Sessions({ secret, ttlMs, clock, directory: elsewhere });
    await elsewhere.refresh();
    assert.equal(await remote.verify(first.token), undefined);
    const again = new Sessions({ secret, ttlMs, clock, directory: await openElsewhere() });
    assert.equal(await again.verify(first.token), undefined);
    assert.notEqual(await again.verify(second.token), undefined);
  });

  it('end with a new password and with the user', async () => {
    const ends = [
      ({ id }: User) => setPassword({ user: id }, 'another hash'),
      ({ id }: User) => disableUser({ user: id }),
    ];
    for (const [n, end] of ends.entries()) {
      const user = await newUser(`dan${n}`);
      const session = await open().issue(user, organization);
      await change(end(user));
      assert.equal(await open().verify(session.token), undefined);
    }
  });
});
