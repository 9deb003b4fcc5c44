import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, test } from 'node:test';
import { acceptedOf, call, eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createKey,
  createOrganization,
  sourceEvent,
  startServer,
  type TestServer,
} from '../support/server.ts';
import { batchesOf, type Death, deathsOf, killSeed } from '../support/kill-schedule.ts';
import { patience } from '../support/patience.ts';

/**
 * Kills the server, the engine or both at random while many clients write, again and again on the same data, and
 * counts afterwards. A few rounds belong to the suite; `npm run test:kill` runs more (KILL_ROUNDS).
 *
 * Clients send two kinds of batches. Without an Idempotency-Key an unanswered batch is given up: its events may be
 * stored, but not twice. With one it is sent again until it is answered, and must be there exactly once.
 */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 1);
const seed = killSeed(process.env['KILL_SEED']);
const clients = 6;
const deathsPerRound = 2;

const dataDir = await temporaryDirectory();
let server: TestServer;
after(async () => {
  await server.stop();
  await removeDirectory(dataDir);
});

async function start(): Promise<void> {
  server = await startServer({ dataDir, env: { FLUSH_INTERVAL: '30ms', SEGMENT_BYTES: '65536' } });
}

interface Written {
  /** Ids of events whose batch was answered with 202. */
  readonly acknowledged: Set<string>;
  /** Of those, the ones whose batch was sent again until it was answered. */
  readonly repeated: Set<string>;
}

async function post(key: string, body: string, idempotencyKey?: string): Promise<boolean> {
  const headers: Record<string, string> = { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' };
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
  const answer = await call(`${server.url}/api/v1/audit`, { method: 'POST', headers, body }).catch(
    () => undefined,
  );
  if (answer?.status !== 202) return false;
  assert.equal(acceptedOf(answer).rejected, 0);
  return true;
}

async function postUntilAnswered(
  key: string,
  body: string,
  again: string,
  done: AbortSignal,
): Promise<boolean> {
  while (!done.aborted) {
    if (await post(key, body, again)) return true;
    await sleep(20);
  }
  return false;
}

async function write(
  key: string,
  flow: string,
  written: Written,
  done: AbortSignal,
  batches: ReturnType<typeof batchesOf>,
): Promise<void> {
  while (!done.aborted) {
    const { events, isRepeated } = batches.next().value;
    const ids = Array.from({ length: events }, () => randomUUID());
    const lines = ids.map((id) => JSON.stringify(sourceEvent({ flow_id: flow, extra: { id } })));
    const again = isRepeated ? randomUUID() : undefined;
    const body = lines.join('\n');
    const stored =
      again === undefined ? await post(key, body) : await postUntilAnswered(key, body, again, done);
    if (!stored) continue;
    for (const id of ids) written.acknowledged.add(id);
    if (again !== undefined) for (const id of ids) written.repeated.add(id);
  }
}

/** The engine that the server last announced; it may have died of the kill before and not be back yet. */
function killEngine(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function kill(what: Death['of']): Promise<void> {
  const engine = server.enginePid();
  if (what !== 'server' && engine !== undefined) killEngine(engine);
  // An engine that is not back yet cannot die again: then the server does.
  if (what === 'engine' && engine !== undefined) return;
  await server.kill('SIGKILL');
  await start();
}

async function idsStored(key: string, flow: string): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; ; ) {
    const answer = await call(`${server.url}/api/v1/audit?flowId=${flow}&limit=1000&offset=${offset}`, {
      headers: { 'X-API-Key': key },
    });
    assert.equal(answer.status, 200, answer.text);
    const page = JSON.parse(answer.text) as {
      data: { extra_map: { id: string } }[];
      meta: { total: number };
    };
    ids.push(...page.data.map((event) => event.extra_map.id));
    offset += page.data.length;
    if (offset >= page.meta.total || page.data.length === 0) return ids;
  }
}

test(`${rounds} rounds of kill -9 under load lose nothing and double nothing (KILL_SEED=${seed})`, {
  timeout: patience(60_000 + rounds * 20_000),
}, async (t) => {
  await start();
  await createOrganization(server, 'acme');
  const { key } = await createKey(server, ['--org', 'acme', '--scopes', 'read,write']);
  const flow = randomUUID();
  const deaths = deathsOf(seed);
  const batches = Array.from({ length: clients }, (_, client) => batchesOf(seed, client));
  const written: Written = { acknowledged: new Set(), repeated: new Set() };
  for (let round = 0; round < rounds; round++) {
    const done = new AbortController();
    const writers = Promise.all(batches.map((ofClient) => write(key, flow, written, done.signal, ofClient)));
    const died: string[] = [];
    for (let death = 0; death < deathsPerRound; death++) {
      const { afterMs, of } = deaths.next().value;
      await sleep(afterMs);
      await kill(of);
      died.push(of);
    }
    await sleep(300);
    done.abort();
    await writers;
    t.diagnostic(
      `round ${round + 1}: killed ${died.join(', ')}; ${written.acknowledged.size} acknowledged so far`,
    );
  }
  assert.ok(written.acknowledged.size > rounds * 50, `only ${written.acknowledged.size} acknowledged`);
  const stored = await eventually(
    'every acknowledged event to be readable',
    async () => {
      const ids = await idsStored(key, flow).catch(() => []);
      const held = new Set(ids);
      return [...written.acknowledged].every((id) => held.has(id)) ? ids : undefined;
    },
    60_000,
  );
  assert.equal(new Set(stored).size, stored.length, 'an event is stored twice');
  // A doubled segment would come late: look again after everything that was waiting has been sent.
  assert.equal(await server.stop(), 0);
  await start();
  assert.equal((await idsStored(key, flow)).length, stored.length);
  t.diagnostic(`${stored.length} stored, ${written.repeated.size} of them sent until answered`);
});
