import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { call, type HttpAnswer, problemOf, type ProblemBody } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { bodyBytesMax, sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'problems');
});

const at = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  call(`${server.url}${path}`, { method, headers });

test('every error has the one shape', async () => {
  const event = JSON.stringify(sourceEvent());
  const errors: Record<string, [status: number, answer: Promise<HttpAnswer>]> = {
    'no key': [401, at('/api/v1/audit')],
    'malformed body': [400, tenant.post('{')],
    'nothing accepted': [400, tenant.post('[{}]')],
    'unknown path': [404, at('/api/v1/nothing')],
    root: [404, at('/nothing')],
    'longer path': [404, at('/api/v1/audit/nothing')],
    'unknown method': [405, at('/api/v1/audit', 'DELETE')],
    'too large': [413, tenant.post(event.padEnd(bodyBytesMax + 1))],
    'media type': [415, tenant.post(event, { 'content-type': 'text/plain+odd' })],
  };
  const ids = new Set<string>();
  const titles: Record<number, string> = {};
  for (const [what, [status, answer]] of Object.entries(errors)) {
    const problem: ProblemBody = problemOf(await answer, status);
    assert.ok(!ids.has(problem.request_id), `${what}: a request id was used twice`);
    ids.add(problem.request_id);
    titles[status] = problem.title;
  }
  assert.deepEqual(titles, {
    400: 'Bad Request',
    401: 'Unauthorized',
    404: 'Not Found',
    405: 'Method Not Allowed',
    413: 'Content Too Large',
    415: 'Unsupported Media Type',
  });
});

test('request ids are in the header of successes too, and the operational log has those of failures inside', async () => {
  const answer = await tenant.get();
  assert.match(String(answer.headers['x-request-id']), /^[\x21-\x7e]+$/);
  assert.notEqual((await tenant.get()).headers['x-request-id'], answer.headers['x-request-id']);
});

test('nothing of a request comes back in an error', async () => {
  const probe = 'zQx7probe';
  const answers = [
    await at(`/${probe}`),
    await at(`/api/v1/audit?${probe}=1`, 'DELETE'),
    await at('/api/v1/audit', 'GET', { 'x-api-key': `ak_${probe}` }),
    await tenant.post(`{"${probe}`),
    await tenant.post('{}', { 'content-type': `x/${probe}` }),
  ];
  for (const answer of answers)
    assert.ok(!answer.text.includes('<') && !answer.text.includes(tenant.key), answer.text);
  // The secret of a key is nowhere, neither in what clients see nor in what the process writes.
  const secret = tenant.key.slice(20);
  assert.ok(!server.stderrLines().some((line) => line.includes(secret)));
  assert.ok(!server.stdoutLines().some((line) => line.includes(secret)));
});
