import { strict as assert } from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formatMicros } from '../../src/base/timestamp.ts';
import { checkpointText } from '../../src/tlog/checkpoint.ts';
import { createSigner, seedOf } from '../../src/tlog/note.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import {
  createTenant,
  printed,
  removeDirectory,
  sourceEvent,
  temporaryDirectory,
  type Tenant,
} from '../support/server.ts';
import { withEngine } from './export-support.ts';

/** Events of each organization, beside those that making it and its key has left. */
const recorded = 600;

const forgersKey = 'PRIVATE+KEY+service+63dd8183+AQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF';

interface Verification {
  readonly healthy: boolean;
  readonly events: number;
  readonly covered: number;
  readonly findings: readonly {
    readonly kind: string;
    readonly position?: number;
    readonly time?: string;
    readonly detail: string;
  }[];
  readonly notes: readonly string[];
}

const service = keptService({ EVIDENCE_INTERVAL: '200ms' });
/** Not in the data directory: what an auditor keeps. */
let kept: string;
before(async () => {
  kept = await temporaryDirectory();
});
after(async () => {
  await removeDirectory(kept);
});

const get = (tenant: Tenant, what: string) =>
  call(`${tenant.server.url}/api/v1/audit/evidence/${what}`, { headers: { 'x-api-key': tenant.key } });

interface Audited {
  readonly tenant: Tenant;
  readonly id: string;
  readonly slug: string;
  /** Files that an auditor has: the public key, the newest checkpoint. */
  readonly key: string;
  readonly checkpoint: string;
  /** Events that the checkpoint covers. */
  readonly size: number;
}

/** An organization with events, each with a time of its own, all of them covered by a checkpoint that was kept. */
async function audited(slug: string): Promise<Audited> {
  const tenant = await createTenant(service.server, slug);
  const event = (n: number) =>
    JSON.stringify(sourceEvent({ timestamp: 1_700_000_000_000_000 + n, extra: { n } }));
  const body = Array.from({ length: recorded }, (_, n) => event(n)).join('\n');
  assert.equal((await tenant.post(body, { 'content-type': 'application/x-ndjson' })).status, 202);
  const text = await eventually('a checkpoint of all', async () => {
    const answer = await get(tenant, 'checkpoint');
    return Number(answer.text.split('\n')[1]) > recorded ? answer.text : undefined;
  });
  const { keys } = JSON.parse((await get(tenant, 'key')).text) as { keys: { key: string }[] };
  const files = { key: join(kept, `${slug}.key`), checkpoint: join(kept, `${slug}.checkpoint`) };
  writeFileSync(files.key, `${keys[0]?.key}\n`);
  writeFileSync(files.checkpoint, text);
  return { tenant, slug, id: tenant.organization.id, ...files, size: Number(text.split('\n')[1]) };
}

/** Sends until nobody answers. */
async function sendUntilKilled(tenant: Tenant): Promise<void> {
  try {
    for (;;) await tenant.post([sourceEvent()]);
  } catch (error) {
    assert.ok(error instanceof Error);
  }
}

async function verify(args: readonly string[]): Promise<Verification & { readonly code: number | null }> {
  const { code, stdout, stderr } = await service.server.cliHere(['verify', ...args, '--json']);
  assert.ok(stdout !== '', stderr);
  return { code, ...(JSON.parse(stdout) as Verification) };
}

const inEngine = ({ slug, key, checkpoint }: Audited) =>
  verify(['--org', slug, '--key', key, '--checkpoint', checkpoint]);

/** A change of the table behind the service's back. */
const change = (sql: string, parameters: object) =>
  withEngine(service.server, (storage) =>
    storage.command(
      `${sql} SETTINGS mutations_sync = 1`,
      { ...parameters },
      { settings: { allow_nondeterministic_mutations: 1 } },
    ),
  );
/** The time of the n-th recorded event. */
const timeOf = (n: number) => 1_700_000_000_000_000 + n;
const micros = 'toUnixTimestamp64Micro(time)';

describe('what an auditor finds', () => {
  test('nothing, where nothing was changed: in the engine, in a file, and of one event', async () => {
    const one = await audited('honest');
    const { code, healthy, covered, events, findings } = await inEngine(one);
    assert.deepEqual([code, healthy, findings], [0, true, []]);
    assert.ok(events >= covered && covered >= one.size);

    const file = join(kept, 'honest.ndjson.gz');
    printed(await service.server.cliHere(['export', '--org', 'honest', '--evidence', '-o', file, '--json']));
    const offline = await verify([file, '--key', one.key, '--checkpoint', one.checkpoint]);
    assert.deepEqual([offline.code, offline.findings], [0, []]);
    assert.ok(offline.events > recorded);

    const proof = join(kept, 'honest.proof.json');
    writeFileSync(proof, (await get(one.tenant, 'proof?position=100')).text);
    assert.deepEqual((await verify([proof, '--key', one.key])).findings, []);
    const other = join(kept, 'other.key');
    writeFileSync(
      other,
      readFileSync(one.key, 'utf8').replace(
        /\+[^+]{8}\+.*/,
        '+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
      ),
    );
    assert.equal((await service.server.cliHere(['verify', proof, '--key', other])).code, 1);
  });

  test('another history, signed with the same key for somebody else', async () => {
    const one = await audited('forked');
    const origin = `service/${one.id}`;
    const signer = createSigner(
      origin,
      seedOf(readFileSync(join(service.dataDir, 'evidence-key'), 'utf8')) ?? Buffer.alloc(32),
    );
    const forked = join(kept, 'forked.other');
    writeFileSync(forked, signer.sign(checkpointText({ origin, size: one.size, root: Buffer.alloc(32, 1) })));
    const { findings } = await verify([
      '--org',
      'forked',
      '--key',
      one.key,
      '--checkpoint',
      one.checkpoint,
      '--checkpoint',
      forked,
    ]);
    assert.equal(findings[0]?.kind, 'forked');
  });

  test('nothing, after a kill -9 in the midst of it', async () => {
    const one = await audited('killed');
    assert.equal((await one.tenant.post([sourceEvent()])).status, 202);
    const sent = sendUntilKilled(one.tenant);
    await service.server.kill('SIGKILL');
    await sent;
    const server = await service.start();
    const tenant = { ...one.tenant, server };
    await eventually('a checkpoint of what came since', async () => {
      const [, size = '0'] = (await get(tenant, 'checkpoint')).text.split('\n');
      return Number(size) > one.size ? true : undefined;
    });
    const { findings, covered } = await inEngine(one);
    assert.deepEqual(findings, []);
    assert.ok(covered > one.size);
  });

  const altered = `ALTER TABLE events UPDATE source = replaceOne(source, '"n":', '"n" :')`;
  const tampered: readonly (readonly [name: string, sql: string, kind: string, n: number])[] = [
    ['altered', `${altered} WHERE org = {id:UUID} AND ${micros} = {first:Int64}`, 'altered', 300],
    [
      'deleted',
      `ALTER TABLE events DELETE WHERE org = {id:UUID} AND ${micros} = {first:Int64}`,
      'missing',
      300,
    ],
    [
      'truncated',
      `ALTER TABLE events DELETE WHERE org = {id:UUID} AND ${micros} >= {first:Int64} AND ${micros} < ${timeOf(1000)}`,
      'missing',
      300,
    ],
    [
      'added',
      `INSERT INTO events (org, time, seq, activity_id, expires, ocsf, source)
       SELECT org, time, seq - 1, activity_id, expires, ocsf, source FROM events
       WHERE org = {id:UUID} AND ${micros} = ${timeOf(0)}`,
      'added',
      0,
    ],
    [
      'swapped',
      `ALTER TABLE events UPDATE source = if(${micros} = {first:Int64},
         (SELECT source FROM events WHERE org = {id:UUID} AND ${micros} = {second:Int64}),
         (SELECT source FROM events WHERE org = {id:UUID} AND ${micros} = {first:Int64}))
       WHERE org = {id:UUID} AND ${micros} IN ({first:Int64}, {second:Int64})`,
      'moved',
      300,
    ],
  ];
  for (const [name, sql, kind, n] of tampered) {
    test(`rows that were ${name}: the first of them by place and time`, async () => {
      const one = await audited(name);
      assert.deepEqual((await inEngine(one)).findings, []);
      await change(sql, { id: one.id, first: timeOf(n), second: timeOf(n + 50) });
      const { code, findings } = await inEngine(one);
      const [found, ...more] = findings;
      assert.deepEqual([code, found?.kind, more], [1, kind, []], JSON.stringify(findings));
      assert.equal(found?.time, formatMicros(timeOf(n)));
      // The place is that of this event in the tree, which still has it.
      const proof = await get(one.tenant, `proof?position=${found?.position}`);
      assert.equal((JSON.parse(proof.text) as { time: number }).time, timeOf(n));
    });
  }

  test('a table that was replaced with all that follows from it, and one that was set back', async () => {
    const one = await audited('forged');
    // The operator of the engine has altered an event and lets the tree be built anew, for a server with another key.
    await change(`${altered} WHERE org = {id:UUID} AND ${micros} = {first:Int64}`, {
      id: one.id,
      first: timeOf(10),
    });
    await withEngine(service.server, async (storage) => {
      for (const table of ['evidence_tiles', 'evidence_checkpoints'])
        await storage.command(`DELETE FROM ${table} WHERE org = {id:UUID}`, { id: one.id });
      await storage.command('TRUNCATE TABLE evidence_keys');
      await storage.command('TRUNCATE TABLE evidence_progress');
    });
    await service.server.stop();
    const env = { EVIDENCE_INTERVAL: '200ms', EVIDENCE_KEY: undefined };
    writeFileSync(join(service.dataDir, 'evidence-key'), forgersKey);
    const server = await service.start(env);
    const tenant = { ...one.tenant, server };
    await eventually('a tree of the forgery', async () =>
      (await get(tenant, 'checkpoint')).status === 200 ? true : undefined,
    );
    const { findings, notes } = await inEngine(one);
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      ['contradicted'],
    );
    assert.match(findings[0]?.detail ?? '', /the first change is at one of the places 0 to \d+/);
    assert.ok(
      notes.some((note) => note.includes('is passed over')),
      notes.join(),
    );

    await withEngine(service.server, (storage) =>
      storage.command('DELETE FROM evidence_tiles WHERE org = {id:UUID} AND level = 0 AND tile > 0', {
        id: one.id,
      }),
    );
    assert.equal((await inEngine(one)).findings.at(-1)?.kind, 'shorter');
  });
});
