import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config/config.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { acceptedOf, call, eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { rounds } from '../support/rounds.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createKey,
  createOrganization,
  sourceEvent,
  startServer,
  type TestServer,
} from '../support/server.ts';
import { startTwoShards, type TwoShards } from '../support/two-shards.ts';

const envelope = { head: eventHead, tail: eventTail(loadConfig({})) };

/** Numbers in [0, 1) that the seed and `stream` decide alone, whatever other clients draw meanwhile. */
function randomOf(seed: number, stream: number): () => number {
  let state = (seed ^ Math.imul(stream + 1, 0x9e3779b1)) & 0x7fffffff;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

describe('three front ends on a cluster', () => {
  const seed = Number(process.env['KILL_SEED'] ?? Math.floor(Math.random() * 1e9));
  const killRounds = Number(process.env['KILL_ROUNDS'] ?? rounds(2, 20));
  let two: TwoShards;
  before(async () => {
    two = await startTwoShards();
  });
  const servers: TestServer[] = [];
  const directories: string[] = [];
  after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await two?.stop();
    await Promise.all(directories.map((directory) => removeDirectory(directory)));
  });
  /** The first and the third prefer node a, the second node b; each knows both. */
  const start = async (n: number): Promise<void> => {
    const urls = n === 1 ? [two.doorOfB.url, two.a.url] : [two.a.url, two.doorOfB.url];
    const env = {
      ...two.env('front'),
      CLICKHOUSE_URL: urls.join(','),
      SEGMENT_BYTES: '65536',
      FLUSH_INTERVAL: '30ms',
    };
    // As its supervisor does: the engine may end by itself (see plain-engine.ts), and a start without it fails.
    let failure: unknown;
    servers[n] = await eventually(
      `front end ${n} to start`,
      () =>
        startServer({ dataDir: directories[n] ?? '', env }).catch((error: unknown) => {
          failure = error;
          return undefined;
        }),
      30_000,
    ).catch((error: unknown) => {
      throw new Error(String(error), { cause: failure });
    });
  };

  /** A key of a new organization. A node that ends by itself meanwhile can leave half of what a command does. */
  const keyOf = (name: string): Promise<string> => {
    let failure: unknown;
    return eventually(`an organization "${name}"`, async () => {
      const slug = `${name}-${randomUUID().slice(0, 8)}`;
      try {
        await createOrganization(servers[0] as TestServer, slug);
        return (await createKey(servers[0] as TestServer, ['--org', slug, '--scopes', 'read,write'])).key;
      } catch (error) {
        failure = error;
        return undefined;
      }
    }).catch((error: unknown) => {
      throw new Error(String(error), { cause: failure });
    });
  };

  /** One death after the other while clients write; resolves with what has died, once all is up again. */
  const killEach = async (
    victims: readonly ('node' | 'front end')[],
    random: () => number,
  ): Promise<string[]> => {
    const died: string[] = [];
    for (const victim of victims) {
      await sleep(200 + random() * 600);
      const n = Math.floor(random() * 3);
      if (victim === 'node') {
        // Without replicas the service cannot start while node a is down, nor can anybody write to its shard.
        const node = random() < 0.5 ? 'a' : 'b';
        await two[node].kill();
        await sleep(300 + random() * 500);
        await two[node].start();
        died.push(`node ${node}`);
      } else {
        await servers[n]?.kill('SIGKILL');
        await start(n);
        died.push(`front end ${n}`);
      }
    }
    await sleep(300);
    return died;
  };

  test(`kill -9 of any of them and of a node loses nothing and doubles nothing (KILL_SEED=${seed})`, {
    timeout: patience(100_000 + killRounds * 30_000),
  }, async (t) => {
    await two.prepare('front', envelope);
    for (let n = 0; n < 3; n++) directories.push(await temporaryDirectory());
    for (let n = 0; n < 3; n++) await start(n);
    const organizations = ['one', 'other', 'third', 'fourth'];
    const keys: string[] = [];
    for (const name of organizations) keys.push(await keyOf(name));
    const flow = randomUUID();
    const acknowledged = keys.map(() => new Set<string>());
    const write = async (client: number, done: AbortSignal): Promise<void> => {
      const random = randomOf(seed, client + 1);
      const organization = client % keys.length;
      while (!done.aborted) {
        const ids = Array.from({ length: 1 + Math.floor(random() * 30) }, () => randomUUID());
        const body = ids
          .map((id) => JSON.stringify(sourceEvent({ flow_id: flow, extra: { id } })))
          .join('\n');
        const headers = { 'x-api-key': keys[organization] ?? '', 'content-type': 'application/x-ndjson' };
        const url = `${servers[client % 3]?.url}/api/v1/audit`;
        const answer = await call(url, { method: 'POST', headers, body }).catch(() => undefined);
        if (answer?.status !== 202) await sleep(20);
        else if (acceptedOf(answer).accepted === ids.length)
          for (const id of ids) acknowledged[organization]?.add(id);
      }
    };
    const random = randomOf(seed, 0);
    for (let round = 1; round <= killRounds; round++) {
      const done = new AbortController();
      const writing = Promise.all([0, 1, 2, 3].map((client) => write(client, done.signal)));
      // Clients that nobody ends keep a test that has failed from ending.
      const died = await killEach(['node', 'front end', 'node'], random).finally(() => done.abort());
      await writing;
      t.diagnostic(`round ${round}: killed ${died.join(', ')}`);
    }
    for (const [n, key] of keys.entries()) {
      const wanted = acknowledged[n] ?? new Set();
      let read = 0;
      assert.ok(wanted.size > 20, `only ${wanted.size} acknowledged`);
      for (const server of servers) {
        const stored = await eventually(
          `every acknowledged event of organization ${n} to be readable at ${server.url}`,
          async () => {
            const url = `${server.url}/api/v1/audit/export?format=ndjson&flowId=${flow}`;
            const answer = await call(url, { headers: { 'x-api-key': key } }).catch(() => undefined);
            if (answer?.status !== 200) return undefined;
            const lines = answer.text.split('\n').filter((line) => line !== '');
            // What has been read once is there, whoever is asked.
            assert.ok(lines.length >= read, `${lines.length} events where there were ${read}`);
            read = lines.length;
            const ids = lines.map((line) => (JSON.parse(line) as { extra_map: { id: string } }).extra_map.id);
            const held = new Set(ids);
            return [...wanted].every((id) => held.has(id)) ? ids : undefined;
          },
          90_000,
        ).catch((error: unknown) => {
          for (const one of servers) t.diagnostic(one.stderrLines().slice(-3).join('\n'));
          throw error;
        });
        assert.equal(new Set(stored).size, stored.length, 'an event is stored twice');
      }
    }
  });
});
