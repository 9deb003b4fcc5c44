import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, printed, sourceEvent } from '../support/server.ts';
import { withEngine } from './export-support.ts';

/** What is tried in test/control/erasure.test.ts, with a command, a server that is killed, and more events. */
const service = keptService({ EVIDENCE_INTERVAL: '200ms', RETENTION_INTERVAL: '250ms' });
const email = 'Ana.Maria@acme.example';

async function run(args: readonly string[]) {
  const answer = await service.server.cliHere(['erase', ...args, '--json']);
  const value = printed(answer) as { readonly state: string; readonly pseudonym: string };
  return { ...answer, value };
}

/** Until all is covered that has been recorded. */
const healthy = (slug: string) =>
  eventually('a good verification', async () => {
    const { code } = await service.server.cliHere(['verify', '--org', slug]);
    // 3: what was erased is for somebody to confirm.
    return code === 0 || code === 3 ? true : undefined;
  });

test('an erasure that was killed is gone on with by the next server; a person has one pseudonym', async () => {
  const tenant = await createTenant(service.server, 'killed');
  const { slug } = tenant.organization;
  const record = (n: number) =>
    tenant.record(Array.from({ length: n }, (_, at) => sourceEvent({ actor: email, extra: { at } })));
  // More than a turn takes at once.
  const many = 2_100;
  await record(many);
  await tenant.settled(many, { actor: email });
  await service.server.stop();
  const begun = await run(['--org', slug, '--email', email, '--confirm', String(many)]);
  assert.equal(begun.value.state, 'begun', begun.stderr);
  await service.start();
  await service.server.kill('SIGKILL');
  const server = await service.start();
  const total = async (actor: string) => {
    const headers = { 'x-api-key': tenant.key };
    const { text } = await call(`${server.url}/api/v1/audit?actor=${actor}`, { headers });
    return (JSON.parse(text) as { meta: { total: number } }).meta.total;
  };
  const pseudonym = begun.value.pseudonym;
  await eventually('all of them to be changed', async () =>
    (await total(`${pseudonym}@erased.invalid`)) === many && (await total(email)) === 0 ? true : undefined,
  );
  await eventually('the plan to be gone', () =>
    withEngine(server, async (storage) => {
      const [row] = await storage.rows<{ n: string }>('SELECT count() AS n FROM erasure_rows');
      return row?.n === '0' ? true : undefined;
    }),
  );
  await healthy(slug);
  assert.equal((await run(['--org', slug, '--email', email.toLowerCase()])).value.pseudonym, pseudonym);
});
