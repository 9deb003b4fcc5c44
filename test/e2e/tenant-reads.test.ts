import { test } from 'node:test';
import { call, problemOf } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createOrganization } from '../support/server.ts';
import { createUser, jsonOf, signIn } from './session-support.ts';

/** `access.test.ts` tests access. */

const eventsPath = '/api/v1/dashboard/organization/get-events-in-org';
const service = keptService({ DEPLOYMENT: 'self-hosted' });

test('a self-hosted deployment has no organization events; everything else works', async () => {
  const { server } = service;
  await createOrganization(server, 'reads');
  await createUser(server, 'reads', 'auditor', 'auditor@reads.example');
  const { get } = await signIn(server, 'auditor@reads.example');
  problemOf(await get(eventsPath), 404);
  problemOf(await get(`${eventsPath}?limit=1`), 404);
  problemOf(await call(`${server.url}${eventsPath}`), 404);
  for (const path of ['/api/v1/portal/events?limit=1', '/api/v1/portal/receipts', '/api/v1/auth/token'])
    jsonOf(await get(path));
});
