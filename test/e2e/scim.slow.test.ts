import { strict as assert } from 'node:assert';
import { before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { changeOfPatch, changeOfUserBody } from '../../src/http/scim/attributes.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { call, eventually, type HttpAnswer } from '../support/http.ts';
import {
  createKey,
  createOrganization,
  createTenant,
  type SharedServer,
  type Tenant,
} from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { rounds } from '../support/rounds.ts';
import { createUser, signIn } from './session-support.ts';

const slug = 'scim';
const users = '/scim/v2/Users';
let server: SharedServer;
let tenant: Tenant;
let key: string;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, slug);
  ({ key } = await createKey(server, ['--org', slug, '--scopes', 'scim', '--name', 'Directory']));
  await createUser(server, slug, 'admin', 'ann@scim.example');
});

type Resource = Record<string, unknown> & { readonly id: string };

function scim(method: string, path: string, body?: unknown, as = key): Promise<HttpAnswer> {
  const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/scim+json; charset=utf-8' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return call(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body: text }) });
}

function resourceOf(answer: HttpAnswer, status = 200): Resource {
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers['content-type']), /^application\/scim\+json/);
  return JSON.parse(answer.text) as Resource;
}

function errorOf(answer: HttpAnswer, status: number, scimType?: string): void {
  const error = resourceOf(answer, status);
  assert.deepEqual(error['schemas'], ['urn:ietf:params:scim:api:messages:2.0:Error']);
  assert.equal(error['status'], String(status));
  assert.equal(error['scimType'], scimType, answer.text);
}

const patch = (id: string, ...operations: object[]) =>
  scim('PATCH', `${users}/${id}`, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: operations,
  });

async function found(filter: string): Promise<Resource[]> {
  const list = resourceOf(await scim('GET', `${users}?filter=${encodeURIComponent(filter)}`));
  return list['Resources'] as Resource[];
}

const create = async (body: object) => resourceOf(await scim('POST', users, body), 201);

describe('a directory', () => {
  test('as Entra ID: looks, creates, renames, disables by "False", enables, and each is recorded', async () => {
    assert.deepEqual(await found('userName eq "bea@scim.example"'), []);
    const bea = await create({
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:User',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
      ],
      externalId: 'bea',
      userName: 'Bea@scim.example',
      active: true,
      displayName: 'Bea B',
      emails: [{ primary: true, type: 'work', value: 'Bea@scim.example' }],
      meta: { resourceType: 'User' },
      name: { formatted: 'x', familyName: 'B', givenName: 'Bea' },
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'D' },
      roles: [],
    });
    assert.deepEqual(
      [bea['userName'], bea['displayName'], bea['active']],
      ['Bea@scim.example', 'Bea B', true],
    );
    assert.deepEqual(bea['roles'], [{ value: 'member', primary: true }]);
    const [same] = await found('userName eq "BEA@scim.example"');
    assert.equal(same?.id, bea.id);
    assert.equal((await found('externalId eq "bea"'))[0]?.id, bea.id);
    assert.equal((await found(`id eq "${bea.id}"`))[0]?.id, bea.id);
    for (const nobody of [
      'externalId eq ""',
      'id eq "none"',
      'emails[type eq "work"].value eq "x@y.example"',
    ])
      assert.deepEqual(await found(nobody), [], nobody);
    const promoted = resourceOf(
      await patch(
        bea.id,
        { op: 'Replace', path: 'displayName', value: 'Bea C' },
        { op: 'Add', path: 'roles[primary eq "True"].value', value: 'auditor' },
        {
          op: 'Replace',
          path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
          value: 'E',
        },
      ),
    );
    assert.deepEqual(
      [promoted['displayName'], promoted['roles']],
      ['Bea C', [{ value: 'auditor', primary: true }]],
    );
    assert.equal(
      resourceOf(await patch(bea.id, { op: 'Replace', path: 'active', value: 'False' }))['active'],
      false,
    );
    assert.equal(
      resourceOf(await patch(bea.id, { op: 'Replace', path: 'active', value: 'True' }))['active'],
      true,
    );
    await tenant.caughtUp();
    const { data } = await tenant.page({ limit: '100' });
    const own = data.filter(({ actor }) => actor.user?.['name'] === 'Directory');
    assert.deepEqual(
      own.map(({ activity_id: id }) => id).toSorted((a, b) => a - b),
      [1000, 1004, 1006, 1007, 1020],
    );
  });

  test('as Okta: disables by an object without a path, and by a whole user; sessions end', async () => {
    const cal = await createUser(server, slug, 'auditor', 'cal@scim.example');
    const session = await signIn(server, 'cal@scim.example', { organization: slug });
    resourceOf(await patch(cal.id, { op: 'replace', value: { active: false } }));
    await eventually(
      'the session to end',
      async () => ((await session.get('/api/v1/portal/whoami')).status === 401 ? true : undefined),
      2_000,
    );
    const whole = { userName: 'cal@scim.example', name: { givenName: 'Cal', familyName: 'L' }, active: true };
    const put = resourceOf(await scim('PUT', `${users}/${cal.id}`, whole));
    assert.deepEqual(
      [put['active'], put['displayName'], put['roles']],
      [true, 'Cal L', [{ value: 'auditor', primary: true }]],
    );
    // The earlier session has ended.
    assert.equal((await session.get('/api/v1/portal/whoami')).status, 401);
    assert.equal((await scim('DELETE', `${users}/${cal.id}`)).status, 204);
    assert.equal(resourceOf(await scim('GET', `${users}/${cal.id}`))['active'], false);
  });

  test('takes away the role that it names, and no other', async () => {
    const { id } = await create({ userName: 'dan@scim.example', roles: [{ value: 'admin' }] });
    const roleAfter = async (...operations: object[]) =>
      (resourceOf(await patch(id, ...operations))['roles'] as { value: string }[])[0]?.value;
    const app = JSON.stringify({ id: '1', value: 'auditor', displayName: 'Auditors' });
    for (const auditorTaken of [
      { op: 'remove', path: 'roles[value eq "auditor"]' },
      { op: 'Remove', path: `roles[value eq ${JSON.stringify(app)}].value` },
      { op: 'Remove', path: 'roles', value: [{ value: 'auditor' }] },
      { op: 'Remove', path: 'roles', value: [{ value: 'somebody elsewhere' }] },
    ])
      assert.equal(await roleAfter(auditorTaken), 'admin', JSON.stringify(auditorTaken));
    const taken = { op: 'remove', path: 'roles[value eq "auditor"]' };
    const given = { op: 'add', path: 'roles', value: [{ value: 'admin' }] };
    assert.equal(await roleAfter(given, taken), 'admin');
    assert.equal(await roleAfter({ ...taken, path: 'roles[value eq "admin"]' }, taken), 'member');
    assert.equal(await roleAfter(taken, given), 'admin');
    assert.equal(await roleAfter({ op: 'Replace', path: 'roles', value: [] }), 'member');
    await patch(id, given);
    assert.equal(await roleAfter({ op: 'remove', path: 'roles' }), 'member');
    const schema = 'urn:ietf:params:scim:schemas:core:2.0:User';
    await patch(id, { op: 'add', path: `${schema}:externalId`, value: 'dan' });
    const left = resourceOf(await patch(id, { op: 'remove', path: `${schema}:externalId` }));
    assert.equal(left['externalId'], undefined);
  });

  test('gets pages, and errors that name its faults', async () => {
    for (let n = 0; n < 3; n += 1) await create({ userName: `page${n}@scim.example` });
    const page = resourceOf(await scim('GET', `${users}?startIndex=2&count=2`));
    assert.deepEqual([page['startIndex'], page['itemsPerPage']], [2, 2]);
    assert.ok(Number(page['totalResults']) >= 4);
    assert.equal(resourceOf(await scim('GET', `${users}?count=0`))['itemsPerPage'], 0);
    errorOf(await scim('GET', `${users}?filter=title%20pr`), 400, 'invalidFilter');
    errorOf(await scim('POST', users, { userName: 'page1@scim.example' }), 409, 'uniqueness');
    errorOf(await scim('POST', users, { userName: 'no address' }), 400);
    errorOf(await scim('POST', users, {}), 400);
    errorOf(await scim('POST', users, '{'), 400);
    errorOf(await scim('GET', `${users}/none`), 404);
    const [first] = await found('userName eq "page0@scim.example"');
    const id = first?.id ?? '';
    errorOf(await patch(id, { op: 'move', path: 'active' }), 400, 'invalidSyntax');
    errorOf(await patch(id, { op: 'replace', path: 'active', value: 'perhaps' }), 400, 'invalidValue');
    errorOf(
      await patch(id, { op: 'replace', path: 'roles', value: [{ value: 'owner' }] }),
      400,
      'invalidValue',
    );
    errorOf(await patch(id, { op: 'replace', value: 'active' }), 400, 'invalidValue');
    errorOf(
      await patch(id, { op: 'replace', path: 'userName', value: 'other@scim.example' }),
      400,
      'mutability',
    );
    errorOf(await scim('POST', users, { userName: 'x'.repeat(70_000) }), 413);
    // An invalid value is refused before a user is created.
    for (const externalId of ['\ud800', 'a\u0000b', 'x'.repeat(201)])
      errorOf(await scim('POST', users, { userName: 'half@scim.example', externalId }), 400, 'invalidValue');
    assert.deepEqual(await found('userName eq "half@scim.example"'), []);
    const long = { userName: 'long@scim.example', displayName: `${'x'.repeat(199)}😀` };
    assert.equal((await create(long))['displayName'], 'x'.repeat(199));
  });

  test('reaches its own organization alone, with a key for this alone, and not the last administrator', async () => {
    const [ann] = await found('userName eq "ann@scim.example"');
    errorOf(await patch(ann?.id ?? '', { op: 'replace', path: 'active', value: false }), 409);
    errorOf(await patch(ann?.id ?? '', { op: 'replace', path: 'roles', value: 'member' }), 409);
    await createOrganization(server, 'scim-other');
    const other = await createKey(server, ['--org', 'scim-other', '--scopes', 'scim']);
    errorOf(await scim('GET', `${users}/${ann?.id}`, undefined, other.key), 404);
    errorOf(
      await scim(
        'PATCH',
        `${users}/${ann?.id}`,
        { Operations: [{ op: 'replace', value: { active: false } }] },
        other.key,
      ),
      404,
    );
    assert.equal(resourceOf(await scim('GET', users, undefined, other.key))['totalResults'], 0);
    for (const filter of [`id eq "${ann?.id}"`, 'externalId eq "bea"', 'userName eq "ann@scim.example"']) {
      const path = `${users}?filter=${encodeURIComponent(filter)}`;
      assert.equal(resourceOf(await scim('GET', path, undefined, other.key))['totalResults'], 0, filter);
    }
    errorOf(await scim('GET', users, undefined, tenant.key), 403);
    errorOf(await scim('GET', users, undefined, 'ak_none'), 401);
    assert.equal((await call(`${server.url}/api/v1/audit`, { headers: { 'x-api-key': key } })).status, 401);
    const all = await server.cliHere(['key', 'create', '--all-organizations', '--scopes', 'scim', '--json']);
    assert.match(all.stderr, /only have the scope write/);
  });

  test('can ask what there is', async () => {
    for (const [path, name] of [
      ['ServiceProviderConfig', 'patch'],
      ['ResourceTypes', 'Resources'],
      ['Schemas', 'Resources'],
    ] as const)
      assert.ok(resourceOf(await scim('GET', `/scim/v2/${path}`))[name]);
    for (const path of ['ResourceTypes', 'Schemas']) {
      const [one] = resourceOf(await scim('GET', `/scim/v2/${path}`))['Resources'] as [Resource];
      const { location } = one['meta'] as { location: string };
      assert.deepEqual(resourceOf(await scim('GET', location.slice(server.url.length))), one);
      errorOf(await scim('GET', `/scim/v2/${path}/Group`), 404);
    }
  });
});

test('each request is accepted or refused by a rule; the last value counts', () => {
  const path = fc.constantFrom(
    'active',
    'ACTIVE',
    'roles',
    'roles.value',
    'name',
    'name.givenName',
    'displayName',
    'title',
    undefined,
  );
  const operation = fc.record({
    op: fc.constantFrom('add', 'Replace', 'remove', 'x'),
    path,
    value: fc.jsonValue(),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), fc.jsonValue(), (operations, body) => {
      for (const read of [() => changeOfPatch(operations), () => changeOfUserBody(body as object)]) {
        try {
          const { active, role, name } = read();
          assert.ok([undefined, true, false].includes(active));
          assert.ok([undefined, 'admin', 'auditor', 'member'].includes(role));
          assert.ok(name === undefined || (name.length > 0 && name.length <= 200));
        } catch (error) {
          assert.ok(error instanceof Problem && error.code === 'malformed', String(error));
        }
      }
    }),
    { numRuns: rounds(200, 5_000) },
  );
  const json = '{"id":"1","value":"admin","displayName":"Admins"}';
  assert.deepEqual(changeOfPatch([{ op: 'Add', path: 'roles', value: [{ value: json }] }]), {
    role: 'admin',
  });
  assert.deepEqual(
    changeOfPatch([{ op: 'replace', value: { 'name.givenName': 'A', 'name.familyName': 'B' } }]),
    { name: 'A B' },
  );
  const none = { withoutRoles: ['admin', 'auditor', 'member'] };
  assert.deepEqual(changeOfPatch([{ op: 'replace', path: 'roles', value: [] }]), none);
  assert.deepEqual(changeOfPatch([{ op: 'replace', path: 'roles', value: null }]), none);
  assert.deepEqual(changeOfPatch([{ op: 'replace', value: { roles: null } }]), none);
  const named = { Roles: [], displayName: 'A' };
  assert.deepEqual(changeOfPatch([{ op: 'Replace', value: named }]), { ...none, name: 'A' });
  assert.deepEqual(changeOfPatch([{ op: 'add', value: named }]), { name: 'A' });
});
