import { before, describe, test } from 'node:test';
import { call, problemOf } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createOrganization, type SharedServer } from '../support/server.ts';
import { createUser, jsonOf, password, signIn, type SignedIn } from './session-support.ts';

/** What people read with a session where it depends on settings; `access.test.ts` has who may read what. */

const eventsPath = '/api/v1/dashboard/organization/get-events-in-org';
const portal = '/api/v1/portal';
let server: SharedServer;
let admin: SignedIn;
let auditor: SignedIn;
let member: SignedIn;
let stranger: SignedIn;

const service = keptService({
  RATE_LIMIT_TENANT: 'off',
  RATE_LIMIT_LOGIN: 'off',
  DEPLOYMENT: 'self-hosted',
});
before(async () => {
  server = await service.ready();
  await Promise.all([createOrganization(server, 'reads'), createOrganization(server, 'others')]);
  await Promise.all([
    createUser(server, 'reads', 'admin', 'admin@reads.example'),
    createUser(server, 'others', 'admin', 'admin@others.example'),
  ]);
  admin = await signIn(server, 'admin@reads.example');
  stranger = await signIn(server, 'admin@others.example');
  for (const role of ['auditor', 'member']) {
    const body = { email: `${role}@reads.example`, name: role, role, password };
    jsonOf(await admin.send('POST', `${portal}/users`, body), 201);
  }
  auditor = await signIn(server, 'auditor@reads.example');
  member = await signIn(server, 'member@reads.example');
});

const query = (path: string, parameters: Readonly<Record<string, string>>) =>
  `${path}?${new URLSearchParams(parameters).toString()}`;

describe('receipts', () => {
  const receipts = (who = member, parameters: Readonly<Record<string, string>> = {}) =>
    who.get(query(`${portal}/receipts`, parameters));

  test('can be switched off by the organization: 403, for everybody in it and nobody else', async () => {
    jsonOf(await admin.send('PATCH', `${portal}/settings`, { receipts: 'off' }));
    for (const who of [admin, auditor, member]) problemOf(await receipts(who), 403);
    jsonOf(await receipts(stranger));
    jsonOf(await admin.send('PATCH', `${portal}/settings`, { receipts: 'own' }));
    jsonOf(await receipts());
  });
});

describe('a self-hosted deployment', () => {
  test('has no organization events, for nobody; everything else is there', async () => {
    const headers = { cookie: auditor.cookie };
    const get = (path: string) => call(`${server.url}${path}`, { headers });
    problemOf(await get(eventsPath), 404);
    problemOf(await get(`${eventsPath}?limit=1`), 404);
    problemOf(await call(`${server.url}${eventsPath}`), 404);
    jsonOf(await get(`${portal}/events?limit=1`));
    jsonOf(await get(`${portal}/receipts`));
    jsonOf(await get('/api/v1/auth/token'));
  });
});
