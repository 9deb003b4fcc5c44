import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { call, type HttpAnswer, problemOf } from '../support/http.ts';
import { createKey, createTenant, type SharedServer, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { createUser, jsonOf, listOf, password, sendJson, signIn, type SignedIn } from './session-support.ts';

/** Changes with an Idempotency-Key, repeated as after a lost answer. */

const portal = '/api/v1/portal';
const slug = 'repeated';
const adminAddress = `admin@${slug}.example`;
const newPassword = 'another good password';

let server: SharedServer;
let tenant: Tenant;
let admin: SignedIn;
let scimKey: string;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, slug);
  await createUser(server, slug, 'admin', adminAddress);
  admin = await signIn(server, adminAddress);
  ({ key: scimKey } = await createKey(server, ['--org', slug, '--scopes', 'scim']));
});

type Send = (body: unknown, headers: Record<string, string>) => Promise<HttpAnswer>;

const byAdmin =
  (method: string, path: string): Send =>
  (body, headers) =>
    admin.send(method, `${portal}${path}`, body, headers);
const byDirectory =
  (method: string, path: string): Send =>
  (body, headers) =>
    sendJson(`${server.url}/scim/v2/Users${path}`, method, body, { 'x-api-key': scimKey, ...headers });

const withKey = () => ({ 'idempotency-key': randomUUID() });
const answerOf = ({ status, text }: HttpAnswer) => ({ status, text });

/** Codes of the events of changes so far. */
let seen: readonly number[] = [];

/** The codes of later ones, in order. */
async function recorded(): Promise<readonly number[]> {
  await tenant.caughtUp();
  const { data } = await tenant.page({ limit: '1000' });
  const codes = data.map(({ activity_id: code }) => code).filter((code) => ![1001, 2001].includes(code));
  const left = [...codes];
  for (const code of seen) left.splice(left.indexOf(code), 1);
  seen = codes;
  return left.toSorted((a, b) => a - b);
}

/** Sends a change, its repeat, and another change under the same key. */
async function holdRepeat(send: Send, body: unknown, other: unknown, status: number): Promise<HttpAnswer> {
  const headers = withKey();
  const first = await send(body, headers);
  assert.equal(first.status, status, first.text);
  assert.deepEqual(answerOf(await send(body, headers)), answerOf(first));
  assert.equal((await send(other, headers)).status, 422);
  return first;
}

describe('a repeat of a change', () => {
  const address = `ben@${slug}.example`;
  const scimUser = (userName: string, more = {}) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
    ...more,
  });

  test('of a user answers as the first did, is recorded once, and another body is refused', async () => {
    await recorded();
    const input = { email: address, name: 'Ben', role: 'member', password };
    const made = await holdRepeat(byAdmin('POST', '/users'), input, { ...input, password: newPassword }, 201);
    const { id } = jsonOf(made, 201);
    const user = `/users/${String(id)}`;
    await holdRepeat(byAdmin('PATCH', user), { role: 'auditor' }, { role: 'admin' }, 200);
    const change = { password: newPassword };
    await holdRepeat(byAdmin('POST', `${user}/password`), change, { password }, 204);
    const disable = withKey();
    for (let n = 0; n < 2; n += 1) jsonOf(await byAdmin('POST', `${user}/disable`)({}, disable));
    await holdRepeat(byAdmin('PATCH', '/settings'), { name: 'Once' }, { name: 'Twice' }, 200);
    assert.deepEqual(await recorded(), [1000, 1006, 1010, 1020, 5011]);
  });

  test('returns the first answer even after later changes; for another caller it is another call', async () => {
    const email = `cat@${slug}.example`;
    const headers = withKey();
    const make = () => admin.send('POST', `${portal}/users`, { email, name: 'Cat', role: 'member' }, headers);
    const first = await make();
    const path = `${portal}/users/${String(jsonOf(first, 201)['id'])}`;
    jsonOf(await admin.send('PATCH', path, { role: 'auditor' }));
    assert.deepEqual(answerOf(await make()), answerOf(first));
    assert.equal(
      listOf(await admin.get(`${portal}/users`)).find((one) => one['email'] === email)?.['role'],
      'auditor',
    );
    await createUser(server, slug, 'admin', `second@${slug}.example`);
    const second = await signIn(server, `second@${slug}.example`);
    problemOf(
      await second.send('POST', `${portal}/users`, { email, name: 'Cat', role: 'member' }, headers),
      409,
    );
    // Without a key the repeat is a second call.
    problemOf(await admin.send('POST', `${portal}/users`, { email, name: 'Cat', role: 'member' }), 409);
  });

  test('by a directory', async () => {
    await recorded();
    const body = scimUser(`dan@${slug}.example`);
    const made = await holdRepeat(byDirectory('POST', ''), body, scimUser(`eve@${slug}.example`), 201);
    const path = `/${String(jsonOf(made, 201)['id'])}`;
    const named = scimUser(`dan@${slug}.example`, { displayName: 'Dan' });
    await holdRepeat(byDirectory('PUT', path), named, body, 200);
    const patch = (value: string) => ({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'displayName', value }],
    });
    await holdRepeat(byDirectory('PATCH', path), patch('Daniel'), patch('D'), 200);
    const headers = { 'x-api-key': scimKey, ...withKey() };
    for (let n = 0; n < 2; n += 1)
      assert.equal(
        (await call(`${server.url}/scim/v2/Users${path}`, { method: 'DELETE', headers })).status,
        204,
      );
    assert.deepEqual(await recorded(), [1000, 1004, 1004, 1006]);
  });

  test('that ends the own session answers once more, and is good for nothing else', async () => {
    const email = `fay@${slug}.example`;
    const { id } = await createUser(server, slug, 'admin', email);
    const other = await createUser(server, slug, 'admin', `gil@${slug}.example`);
    await recorded();
    let fay = await signIn(server, email);
    const logout: Send = (body, headers) => fay.send('POST', '/api/v1/auth/logout', body, headers);
    const key = withKey();
    for (let n = 0; n < 2; n += 1) assert.equal((await logout({}, key)).status, 204);
    problemOf(await logout({}, withKey()), 401);
    problemOf(await fay.get(`${portal}/users`), 401);
    const secrets: Record<string, unknown> = {
      [`users/${other.id}/password-link`]: undefined,
      'api-keys': { scopes: ['read'] },
    };
    for (const [path, body] of Object.entries(secrets))
      problemOf(await fay.send('POST', `${portal}/${path}`, body, key), 401);

    fay = await signIn(server, email);
    const own: Send = (body, headers) => fay.send('POST', `${portal}/password`, body, headers);
    const change = { current: password, new: newPassword };
    await holdRepeat(own, change, { ...change, new: `${newPassword}!` }, 204);

    const keyOfLink = withKey();
    const makeLink = () => byAdmin('POST', `/users/${id}/password-link`)({}, keyOfLink);
    const made = await makeLink();
    assert.deepEqual(answerOf(await makeLink()), answerOf(made));
    const { token } = jsonOf(made, 201);
    const link: Send = (body, headers) =>
      sendJson(`${server.url}/api/v1/auth/password`, 'POST', body, headers);
    await holdRepeat(link, { token, new: password }, { token, new: newPassword }, 204);

    fay = await signIn(server, email);
    const role: Send = (body, headers) => fay.send('PATCH', `${portal}/users/${id}`, body, headers);
    const keyOfRole = withKey();
    const [first, again] = [
      await role({ role: 'member' }, keyOfRole),
      await role({ role: 'member' }, keyOfRole),
    ];
    assert.deepEqual(answerOf(again), answerOf(first));
    assert.equal(first.status, 200);
    problemOf(await role({ role: 'admin' }, withKey()), 403);
    for (const [path, body] of Object.entries(secrets))
      problemOf(await fay.send('POST', `${portal}/${path}`, body, keyOfRole), 403);
    assert.deepEqual(await recorded(), [1003, 1010, 1011, 1012, 1020]);
  });
});

describe('a secret whose answer was lost', () => {
  const keyOf = (answer: HttpAnswer, status: number) =>
    jsonOf(answer, status) as { readonly id: string; readonly key: string };
  const works = async (key: string) => (await tenant.with({ key }).get('limit=1')).status === 200;

  test('of a new key ends with its key, and the repeat makes another', async () => {
    const headers = withKey();
    const make = async () =>
      keyOf(await admin.send('POST', `${portal}/api-keys`, { scopes: ['read'], name: 'SIEM' }, headers), 201);
    const made: { readonly id: string; readonly key: string }[] = [];
    await recorded();
    for (let n = 0; n < 3; n += 1) made.push(await make());
    assert.deepEqual(await recorded(), [1300, 1300, 1300, 1302, 1302]);
    assert.equal(new Set(made.map(({ id }) => id)).size, 3);
    assert.deepEqual(await Promise.all(made.map(({ key }) => works(key))), [false, false, true]);
    const body = { scopes: ['read'], name: 'Other' };
    problemOf(await admin.send('POST', `${portal}/api-keys`, body, headers), 422);
  });

  test('of a rotation ends alone: the secret before stays good for its grace', async () => {
    const made = keyOf(await admin.send('POST', `${portal}/api-keys`, { scopes: ['read'] }, withKey()), 201);
    const headers = withKey();
    const path = `${portal}/api-keys/${made.id}/rotate`;
    const rotate = async () => keyOf(await admin.send('POST', path, { grace: '1h' }, headers), 200);
    const secrets = [made.key];
    await recorded();
    for (let n = 0; n < 2; n += 1) secrets.push((await rotate()).key);
    assert.deepEqual(await recorded(), [1303, 1303]);
    assert.deepEqual(await Promise.all(secrets.map(works)), [true, false, true]);
    const { data } = await tenant.page({ activity: '1303' });
    assert.deepEqual(
      data.map(({ extra_map: extra }) => extra?.['unseen_secret_ended'] ?? false),
      [true, false],
    );
  });
});

test('a key that is none is refused before anything changes', async () => {
  const body = { email: `gus@${slug}.example`, name: 'Gus', role: 'member' };
  for (const key of ['x'.repeat(256), 'body'])
    problemOf(await admin.send('POST', `${portal}/users`, body, { 'idempotency-key': key }), 400);
  assert.equal((await admin.send('POST', `${portal}/users`, body)).status, 201);
});
