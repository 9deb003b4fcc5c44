import { strict as assert } from 'node:assert';
import { mkdir, readdir, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { migrate } from '../../src/storage/migrate.ts';
import { openDirectory } from '../support/control.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { call, eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { projectFile } from '../../src/base/files/project-file.ts';
import { again } from '../support/replicas/again.ts';
import { organizationOn, startFrontEnd } from '../support/replicas/front-ends.ts';
import { type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import {
  createKey,
  type Key,
  printed,
  sourceEvent,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

/** Changes while a replica carries none out, lags or is down; three minutes on two quiet cores. */
const skip = (await whyNoReplicas()) ?? false;
const dayMs = 86_400_000;
const person = 'ana@acme.example';

describe('one shard with two replicas', { skip, timeout: patience(900_000) }, () => {
  let replicas: Replicas;
  let server: TestServer;
  before(async () => {
    replicas = await startReplicas(1, 2);
    server = await startFrontEnd({
      env: replicas.env,
      intervals: { evidenceMs: 500, retentionGraceMs: 1000 },
    });
  });
  after(async () => {
    assert.equal(await server?.stop(), 0);
    await replicas?.stop();
  });
  const command = (args: readonly string[]) =>
    again(args.slice(0, 2).join(' '), async () => {
      const answer = await server.cliHere([...args, '--json']);
      assert.equal(answer.code, 0, answer.stderr);
      return printed(answer) as Record<string, unknown>;
    });
  /** Ten events of today, four that are old, and three of a person. */
  const filled = async (): Promise<Tenant> => {
    const tenant = await organizationOn(replicas, server);
    const timestamp = (days: number) => (Date.now() - days * dayMs) * 1000;
    const events = [
      ...Array.from({ length: 10 }, () =>
        sourceEvent({ timestamp: timestamp(0), actor: 'bob@acme.example' }),
      ),
      ...Array.from({ length: 4 }, () =>
        sourceEvent({ timestamp: timestamp(100), actor: 'bob@acme.example' }),
      ),
      ...Array.from({ length: 3 }, () => sourceEvent({ timestamp: timestamp(0), actor: person })),
    ];
    await tenant.record(events);
    await eventually('both replicas to have them', async () => {
      const counts = await countsOf(tenant);
      return counts.every(({ all }) => all === '17') || undefined;
    });
    return tenant;
  };
  /** Events of producers on each replica: all, those that are old, those of the person. */
  const countsOf = ({ organization }: Tenant) =>
    Promise.all(
      replicas.nodes.map(async ({ storage }) => {
        const [row] = await storage.rows<{ all: string; old: string; theirs: string }>(
          `SELECT count() AS all, countIf(time < now() - INTERVAL 50 DAY) AS old, countIf(position(source, {person:String}) > 0) AS theirs
           FROM events_local WHERE org = {org:UUID} AND NOT own`,
          { org: organization.id, person },
        );
        return row ?? assert.fail('a count has a row');
      }),
    );
  const untilCounts = (tenant: Tenant, expected: readonly string[]) =>
    eventually(
      `${expected.join(', ')} on both replicas`,
      async () => {
        const counts = await countsOf(tenant);
        return (
          counts.every(({ all, old, theirs }) => [all, old, theirs].join() === expected.join()) || undefined
        );
      },
      120_000,
    );

  test('retention, erasure and deletion end once a replica that lags has carried them out; a hold stops all', async () => {
    const [expiring, erasing, leaving, held] = [
      await filled(),
      await filled(),
      await filled(),
      await filled(),
    ];
    const lagging = replicas.at(1, 2);
    const slugOf = ({ organization: { slug } }: Tenant) => ['--org', slug];
    await command(['org', 'hold', ...slugOf(held), '--reason', 'a case']);
    // Mutations are merges.
    await lagging.command('SYSTEM STOP MERGES events_local');
    await command(['org', 'set', ...slugOf(expiring), '--retention', '30d', '--confirm', '4']);
    await server.cliHere(['org', 'set', ...slugOf(held), '--retention', '30d', '--confirm', '4']);
    const { events } = await command(['erase', ...slugOf(erasing), '--email', person]);
    assert.equal(events, 3);
    const total = (await command(['org', 'delete', ...slugOf(leaving), '--dry-run']))['events'];
    // They wait for the replica, or leave that to the server.
    const begun = [
      ['erase', ...slugOf(erasing), '--email', person, '--confirm', '3'],
      ['org', 'delete', ...slugOf(leaving), '--confirm', String(total)],
    ].map((args) => server.cliHere(args));
    await eventually('a replica to have done something that the other has not', async () => {
      const [one, two] = await countsOf(expiring);
      return (one?.old === '0' && two?.old === '4') || undefined;
    });
    // Whichever replica answers: what has expired is hidden.
    assert.equal(
      (
        await expiring.page({
          startTime: '2020-01-01T00:00:00Z',
          endTime: new Date(Date.now() - 50 * dayMs).toISOString(),
        })
      ).meta.total,
      0,
    );
    await again('merges to go on', () => lagging.command('SYSTEM START MERGES events_local'));
    for (const { code, stderr } of await Promise.all(begun)) assert.equal(code, 0, stderr);
    await untilCounts(expiring, ['13', '0', '3']);
    await untilCounts(erasing, ['17', '4', '0']);
    await untilCounts(leaving, ['0', '0', '0']);
    await untilCounts(held, ['17', '4', '3']);
    for (const tenant of [expiring, erasing, held]) {
      const { code, stderr } = await server.cliHere(['verify', ...slugOf(tenant), '--json']);
      assert.ok(code === 0 || code === 3, stderr);
    }
  });

  describe('two servers that change the same object at once', () => {
    /** Has the other node first. */
    let other: TestServer;
    before(async () => {
      const urls = replicas.nodes.map(({ door }) => door.url).toReversed();
      other = await startFrontEnd({ env: { ...replicas.env, CLICKHOUSE_URL: urls.join(',') } });
    });
    after(async () => assert.equal(await other?.stop(), 0));
    const atBoth = (one: readonly string[], two = one) =>
      Promise.all([server.cliHere([...one, '--json']), other.cliHere([...two, '--json'])]);
    /** No change is stored before its row is on both nodes. */
    const whileLagging = async <T>(work: () => Promise<T>): Promise<T> => {
      const lagging = replicas.at(1, 2);
      await lagging.command('SYSTEM STOP FETCHES journal');
      const working = work();
      await sleep(2_000);
      await again('fetches to go on', () => lagging.command('SYSTEM START FETCHES journal'));
      return working;
    };

    for (const lags of [false, true]) {
      const when = lags ? ' while a node lags' : '';
      const together = (one: readonly string[], two = one) =>
        lags ? whileLagging(() => atBoth(one, two)) : atBoth(one, two);

      test(`one change is made upon the other${when}`, async () => {
        const { organization } = await organizationOn(replicas, server);
        const { id } = await createKey(server, ['--org', organization.slug, '--scopes', 'read']);
        const rotated = await together(['key', 'rotate', id, '--grace', '0']);
        const keys = rotated.map((answer) => (printed(answer) as Key).key);
        const areKnown = (url: string) =>
          Promise.all(
            keys.map(async (key) => {
              const answer = await call(`${url}/api/v1/audit/feed`, { headers: { 'x-api-key': key } });
              return answer.status !== 401;
            }),
          );
        await eventually('both servers to know the same secret', async () => {
          const [here, there] = [await areKnown(server.url), await areKnown(other.url)];
          const isAgreed = here.filter(Boolean).length === 1 && here.join() === there.join();
          return isAgreed || undefined;
        });
      });

      test(`one change is refused after the other${when}`, async () => {
        const { slug } = (await organizationOn(replicas, server)).organization;
        const people = ['one', 'two'].map((name) => `${name}@${slug}.example`);
        for (const email of people) {
          const named = ['--email', email, '--name', email, '--role', 'admin', '--password-stdin'];
          const args = ['user', 'create', '--org', slug, ...named];
          printed(await server.cliHere([...args, '--json'], 'correct horse battery staple'));
        }
        const [one = [], two = []] = people.map((email) =>
          ['user', 'set-role', '--email', email, '--org', slug].concat('--role', 'member'),
        );
        const answers = await together(one, two);
        assert.match(answers.map(({ code }) => code).join(), /^(0,1|1,0)$/, JSON.stringify(answers));
        const refused = people[answers.findIndex(({ code }) => code === 1)];
        for (const answer of await atBoth(['user', 'list', '--org', slug])) {
          const users = printed(answer) as { email: string; role: string }[];
          const left = users.filter(({ role }) => role === 'admin').map(({ email }) => email);
          assert.deepEqual(left, [refused]);
        }
      });
    }

    test('the journal has no damage at any node', async () => {
      for (const { storage } of replicas.nodes)
        assert.deepEqual((await again('the journal', () => openDirectory(storage))).damage(), []);
    });
  });

  test('a migration waits for a node that is down, and is applied once it is back', async () => {
    const directory = await temporaryDirectory();
    try {
      const from = projectFile('schema/migrations');
      await mkdir(join(directory, 'migrations'));
      for (const name of await readdir(from))
        await copyFile(join(from, name), join(directory, 'migrations', name));
      const next = `ALTER TABLE {{sharded events}} {{on_cluster}} ADD COLUMN IF NOT EXISTS later String;\n{{on_distributed}} ALTER TABLE events {{on_cluster}} ADD COLUMN IF NOT EXISTS later String;\n`;
      await writeFile(join(directory, 'migrations', '0099_later.sql'), next);
      const run = () =>
        migrate(replicas.at(1, 1), {
          log: silentLog,
          cluster: 'audit',
          directory: pathToFileURL(`${join(directory, 'migrations')}/`),
        });
      await replicas.nodeOf(1, 2).engine.kill();
      await assert.rejects(run(), /does not answer|TIMEOUT/);
      await replicas.nodeOf(1, 2).engine.start();
      const tenant = await filled();
      assert.deepEqual((await again('the migration', run)).applied, ['0099_later.sql']);
      for (const { storage } of replicas.nodes)
        assert.deepEqual(await storage.rows('SELECT DISTINCT later FROM events'), [{ later: '' }]);
      await untilCounts(tenant, ['17', '4', '3']);
    } finally {
      await removeDirectory(directory);
    }
  });
});
