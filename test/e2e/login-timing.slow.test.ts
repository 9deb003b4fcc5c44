import { strict as assert } from 'node:assert';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { problemOf } from '../support/http.ts';
import { rounds } from '../support/rounds.ts';
import { createOrganization, startServer, type TestServer } from '../support/server.ts';
import { createUser, jsonOf, login, password, type Role } from './session-support.ts';

/** Failed logins of absent and existing accounts take the same time (contract: Sessions). */

const addressOfAdmin = 'ada@one.example';
let server: TestServer;
const organizations = new Set<string>();

before(async () => {
  server = await startServer({ env: { RATE_LIMIT_TENANT: 'off', RATE_LIMIT_LOGIN: 'off' } });
  await createUserOf('one', 'admin', addressOfAdmin);
  for (const slug of ['one', 'two', 'three', 'four', 'five']) {
    if (slug === 'one' || slug === 'two') await createUserOf(slug, 'auditor', 'both@x.example');
    await createUserOf(slug, 'member', 'many@x.example');
  }
});
after(() => server?.stop());

async function createUserOf(slug: string, role: Role, email: string): Promise<void> {
  if (!organizations.has(slug)) await createOrganization(server, slug);
  organizations.add(slug);
  await createUser(server, slug, role, email);
}

/** Processor time of the server's threads in milliseconds, without other processes. */
async function processorMs(): Promise<number> {
  const threads = await readdir(`/proc/${server.pid}/task`);
  const times = threads.map(async (thread) => {
    const stat = await readFile(`/proc/${server.pid}/task/${thread}/schedstat`, 'utf8');
    return Number(stat.split(' ')[0]) / 1e6;
  });
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0);
}

/**
 * Processor time of failed logins, in milliseconds: wrong password, unknown account, account in two or five
 * organizations.
 */
async function costs(list_organizations: boolean, turns: number): Promise<number[]> {
  const wrong = 'wrong horse battery staple';
  const cases = [
    { email: addressOfAdmin, password: wrong },
    { email: 'nobody@one.example', password },
    { email: 'both@x.example', password: list_organizations ? wrong : password },
    { email: 'many@x.example', password: wrong },
  ];
  const samples: number[][] = cases.map(() => []);
  // Alternating, in every order: recording one falls into the time of the next.
  for (let round = 0; round < turns; round++) {
    for (let turn = 0; turn < cases.length; turn++) {
      const index = (round + (round % 2 === 0 ? turn : cases.length - turn)) % cases.length;
      const body = { ...(cases[index] as (typeof cases)[number]), list_organizations };
      const before = await processorMs();
      problemOf(await login(server, body), 401);
      samples[index]?.push((await processorMs()) - before);
    }
    // Before failures delay further ones. An unknown account has no right password, but many names are used.
    if (round % 6 === 5) {
      jsonOf(await login(server, { email: addressOfAdmin, password }));
      for (const email of ['both@x.example', 'many@x.example'])
        problemOf(await login(server, { email, password, list_organizations: true }), 401);
      cases[1] = { email: `nobody${round}@one.example`, password };
    }
  }
  // Of the cheaper half, because background work falls on any of them.
  const half = Math.floor(turns / 2);
  return samples.map(
    (of) =>
      of
        .toSorted((a, b) => a - b)
        .slice(0, half)
        .reduce((sum, one) => sum + one, 0) / half,
  );
}

for (const list_organizations of [false, true]) {
  const turns = rounds(6, list_organizations ? 6 : 12);
  test(`takes alike for a user that is not there, list_organizations ${list_organizations}`, async () => {
    const sorted = (await costs(list_organizations, turns)).toSorted((a, b) => a - b);
    const [least = 0, most = 0] = [sorted.at(0), sorted.at(-1)];
    assert.ok(most <= 3 * least + 3, `processor time of the dearest and the cheapest: ${most}, ${least} ms`);
  });
}
