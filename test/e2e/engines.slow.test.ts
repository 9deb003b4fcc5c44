import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { loadConfig } from '../../src/config/config.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { neededGrants } from '../../src/storage/rights.ts';
import { walk } from './walk.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { runCli, startServer } from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { projectRoot } from '../support/project-root.ts';
import { startServerImage } from '../support/server-image.ts';
import { startTwoShards } from '../support/two-shards.ts';

// Nearly all other tests use the embedded engine.
describe('the same service on every engine', () => {
  test('a separate engine, as a user with the rights that docs/configure.md names and no others', async () => {
    const guide = await readFile(new URL('docs/configure.md', projectRoot), 'utf8');
    for (const grant of neededGrants('audit', 'audit')) assert.ok(guide.includes(`${grant};`), grant);
    const database = 'other_name';
    const engine = await startPlainEngine({
      databases: [database],
      grants: neededGrants(database, 'audit'),
    });
    const dataDir = await temporaryDirectory();
    try {
      const env = { ...engine.env, CLICKHOUSE_DATABASE: database };
      await walk(env);
      const { stdout, stderr } = await runCli(['doctor'], { dataDir, env });
      assert.match(stdout, /ok +parts\n +not counted.*\n(?:.*\n)*ok +engine_rights/, stderr);
    } finally {
      await engine.stop();
      await removeDirectory(dataDir);
    }
  });

  test('two shards of a cluster, as a user with the rights that docs/cluster.md names and no others', async () => {
    const guide = await readFile(new URL('docs/cluster.md', projectRoot), 'utf8');
    const grants = neededGrants('audit', 'audit', 'two');
    for (const grant of grants) assert.ok(guide.includes(`${grant};`), grant);
    // Instead of replicated tables and rights that need another node.
    const instead = ['GRANT TABLE ENGINE ON MergeTree', 'GRANT TABLE ENGINE ON ReplacingMergeTree'];
    const database = 'GRANT CREATE DATABASE ON audit.*';
    const two = await startTwoShards({ databases: ['audit'], grants: [...grants, ...instead, database] });
    try {
      await two.prepare('audit', { head: eventHead, tail: eventTail(loadConfig({})) });
      await walk(two.env('audit'));
    } finally {
      await two.stop();
    }
  });

  test('rights that are missing are listed at the start, as statements', async () => {
    const grants = neededGrants('audit', 'limited').filter((grant) => !grant.includes('Replacing'));
    const fewer = grants.map((grant) => grant.replace('INSERT, ', ''));
    const engine = await startPlainEngine({ databases: ['audit'], grants: fewer });
    const dataDir = await temporaryDirectory();
    try {
      const { code, stderr } = await runCli(['serve'], { dataDir, env: engine.env });
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /user "limited".* lacks rights; run: GRANT INSERT ON `audit`\.\* TO `limited`; GRANT TABLE ENGINE ON ReplacingMergeTree TO `limited`$/,
      );
    } finally {
      await engine.stop();
      await removeDirectory(dataDir);
    }
  });

  test('a server that comes up later is waited for; one that rejects the user is not', async () => {
    const engine = await startPlainEngine();
    const proxy = await startFaultProxy(Number(new URL(String(engine.env['CLICKHOUSE_URL'])).port));
    const elsewhere = await temporaryDirectory();
    try {
      proxy.set('refuse');
      const starting = startServer({ env: { ...engine.env, CLICKHOUSE_URL: proxy.url } });
      await sleep(1500);
      proxy.set('none');
      await (await starting).stop();
      const env = { ...engine.env, CLICKHOUSE_PASSWORD: 'not the password' };
      const refused = await runCli(['serve'], { dataDir: elsewhere, env });
      assert.equal(refused.code, 1, refused.stderr);
      assert.match(refused.stderr, /rejects the user/);
      assert.ok(!refused.stderr.includes('not the password'));
    } finally {
      await proxy.stop();
      await engine.stop();
      await removeDirectory(elsewhere);
    }
  });

  test('a ClickHouse server image', { timeout: patience(110_000) }, async (context) => {
    const started = await startServerImage();
    if (typeof started === 'string') {
      context.diagnostic(`NOT TESTED: ${started}, so no ClickHouse server image was tried`);
      context.skip(started);
      return;
    }
    try {
      await walk(started.env);
    } finally {
      await started.stop();
    }
  });
});
