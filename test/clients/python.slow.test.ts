import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createTenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { pythonExample, skipPython } from './programs.ts';

// `npm run test:clients` has unit tests, kills, and the client for Go, which takes seconds to compile.
test('the client for Python records', { skip: skipPython }, async () => {
  const server = await sharedServer();
  const tenant = await createTenant(server, 'python-client');
  const stored = { acknowledged: 1200, rejected: 0, failed: 0, dropped: 0, pending: 0 };
  assert.deepEqual(await pythonExample(server.url, tenant.key, 1200).report, stored);
  await tenant.caughtUp();
  // Making the organization and its key, and the event that shows that all is readable.
  const own = (await tenant.own()).length + 1;
  assert.equal((await tenant.page()).meta.total, 1200 + own);
});
