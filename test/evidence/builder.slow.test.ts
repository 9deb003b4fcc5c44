import { strict as assert } from 'node:assert';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { Builder } from '../../src/evidence/builder.ts';
import { CheckpointTable, type StoredCheckpoint } from '../../src/evidence/checkpoint-table.ts';
import { EvidenceReader } from '../../src/evidence/evidence-reader.ts';
import { limits } from '../../src/evidence/limits.ts';
import { ForeignKeyError, LogKey, readKeys } from '../../src/evidence/log-key.ts';
import { readProgress, watermarkOf } from '../../src/evidence/progress-table.ts';
import { divideSlices } from '../../src/evidence/slices.ts';
import { TileTable, uuidBytes } from '../../src/evidence/tile-table.ts';
import { TreeReader } from '../../src/evidence/tree-reader.ts';
import { Lease } from '../../src/storage/lease.ts';
import { encodeEntry } from '../../src/tlog/entry.ts';
import { leafHash } from '../../src/tlog/hash.ts';
import { parseVerifierKey, verifyNote } from '../../src/tlog/note.ts';
import { RightEdge } from '../../src/tlog/right-edge.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';

let engine: TestEngine;
let tiles: TileTable;
let checkpoints: CheckpointTable;
/** Of the order of ingest, for all organizations. */
let nextSeq = 1n << 40n;
const key = new LogKey({ name: 'service', seed: Buffer.alloc(32, 3), previousSeed: undefined });

before(async () => {
  engine = await startTestEngine();
  tiles = new TileTable(engine.storage);
  checkpoints = new CheckpointTable(engine.storage);
});
after(async () => engine.stop());

interface Stored {
  readonly seq: bigint;
  readonly entry: Buffer;
}

const neverDay = 65_535;
const startMicros = 1_700_000_000_000_000;

const hashOf = (...bytes: Buffer[]): Buffer => createHash('sha256').update(Buffer.concat(bytes)).digest();

/** A text after its length, in groups of seven bits. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) + 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** What is shown of the n-th event, as docs/evidence.md has it. */
function shownOf(organization: string, n: number): Buffer {
  const int = (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  };
  const uuid = uuidBytes(organization);
  const outcome = ['né', 'High', 'Failure', ''].map(text);
  const actor = ['m'.repeat(n % 300), 'id'].map(text);
  const names = [Buffer.from([2]), text('a'), text(''), Buffer.from([0]), text('A'), text('Ä')];
  const rendering = hashOf(Buffer.from('"time":1'));
  return Buffer.concat([rendering, uuid, int(-1n), ...outcome, int(404n), ...actor, ...names, uuid]);
}

/** Stores events whose times are in another order than they came. */
async function record(organization: string, count: number): Promise<Stored[]> {
  const first = nextSeq;
  await engine.storage.command(
    `INSERT INTO events (org, time, seq, activity_id, activity_name, severity, status, level, result_code, actor_email,
       actor_id, names, file_hash, file_name, target_name, flow_id, expires, own, ocsf, source)
     SELECT {organization:UUID}, fromUnixTimestamp64Micro(toInt64({start:Int64} + (number * 7919) % 1000), 'UTC'),
       {first:UInt64} + number * 3, -1, 'né', 'High', 'Failure', '', 404, repeat('m', number % 300), 'id', ['a', ''], [], 'A', 'Ä',
       {organization:UUID}, if(number % 2 = 0, toDate('2149-06-06'), toDate('2090-01-02')), number % 3 = 0, '"time":1',
       concat('{"n":', toString(number), ',"é":"', repeat('x', number % 90), '"}') FROM numbers({count:UInt64})`,
    { organization, start: startMicros, first, count },
  );
  // The watermark stays before it is there.
  nextSeq = first + BigInt(count) * 3n;
  return Array.from({ length: count }, (_, n) => {
    const source = `{"n":${n},"é":"${'x'.repeat(n % 90)}"}`;
    const seq = first + BigInt(n) * 3n;
    const entry = encodeEntry({
      seq,
      time: startMicros + ((n * 7919) % 1000),
      expires: n % 2 === 0 ? neverDay : Date.UTC(2090, 0, 2) / 86_400_000,
      own: n % 3 === 0,
      eventHash: hashOf(hashOf(Buffer.from(source)), hashOf(shownOf(organization, n))),
    });
    return { seq, entry };
  });
}

function rootOf(events: readonly Stored[]): string {
  const edge = new RightEdge();
  for (const { entry } of events) edge.add(leafHash(entry));
  return Buffer.from(edge.root()).toString('hex');
}

function builder(instance?: string, intervalMs = 60_000, watermark = async () => nextSeq) {
  const { storage } = engine;
  const damage = new DamageRegister();
  const log = silentLog;
  const lease =
    instance === undefined ? undefined : new Lease({ storage, name: 'trees', owner: instance, log });
  const own = new Builder({
    storage,
    tiles,
    checkpoints,
    key,
    lease,
    watermark,
    intervalMs,
    shareOfMachine: limits.shareOfMachine,
    // However busy the machine is.
    stopMsMax: 120_000,
    damage,
    log,
  });
  return { damage, stop: () => own.stop() };
}

/** One turn: what stopping does at its end. */
const turn = async () => {
  const one = builder();
  await one.stop();
  return one.damage.list();
};

async function newest(organization: string): Promise<StoredCheckpoint> {
  const [found] = await checkpoints.newest([organization]);
  assert.ok(found);
  const [verifier = ''] = (await readKeys(engine.storage)).map((one) => key.verifierKeyOf(organization, one));
  verifyNote(found.note, [parseVerifierKey(verifier)]);
  assert.equal(found.origin, `service/${organization}`);
  return found;
}

async function holdSigned(organization: string, events: readonly Stored[]): Promise<void> {
  const { size, root } = await newest(organization);
  assert.equal(size, events.length);
  assert.equal(Buffer.from(root).toString('hex'), rootOf(events));
  const stored = await new TreeReader(tiles).root(organization, size);
  assert.deepEqual(Buffer.from(stored ?? []), Buffer.from(root));
}

describe('trees of evidence', () => {
  test('cover the stored events of each organization in the order of ingest, and go on where they were', async () => {
    const [large, small] = [randomUUID(), randomUUID()];
    const events = { [large]: await record(large, 70_000), [small]: await record(small, 3) };
    assert.deepEqual(await turn(), []);
    for (const [organization, own] of Object.entries(events)) await holdSigned(organization, own);
    for (const count of [1, 254, 1, 700]) {
      events[small]?.push(...(await record(small, count)));
      await turn();
      await holdSigned(small, events[small] ?? []);
    }
    await holdSigned(large, events[large] ?? []);
    const reader = new TreeReader(tiles);
    for (const place of [0, 255, 256, 69_999]) {
      const { seq, entry } = events[large]?.[place] ?? { seq: -1n, entry: Buffer.alloc(0) };
      assert.deepEqual((await reader.entry(large, place))?.bytes, entry);
      assert.equal((await reader.entryOf(large, seq))?.position, place);
      assert.equal(await reader.entryOf(large, seq + 1n), undefined);
    }
    assert.equal(await reader.entry(large, 70_000), undefined);
  });

  test('are rebuilt from the events after lost tiles, and signed only if they are the same', async () => {
    const [honest, altered] = [randomUUID(), randomUUID()];
    const events = { [honest]: await record(honest, 600), [altered]: await record(altered, 600) };
    await turn();
    const rollBack = async (organization: string) => {
      const where = { organization };
      await engine.storage.command(
        'DELETE FROM evidence_tiles WHERE org = {organization:UUID} AND level = 0 AND tile > 0',
        where,
      );
      await engine.storage.command('TRUNCATE TABLE evidence_progress');
    };
    await rollBack(honest);
    await rollBack(altered);
    await engine.storage.command(
      `ALTER TABLE events DELETE WHERE org = {organization:UUID} AND seq = {seq:UInt64} SETTINGS mutations_sync = 1`,
      { organization: altered, seq: events[altered]?.[500]?.seq ?? 0n },
    );
    events[honest]?.push(...(await record(honest, 5)));
    await record(altered, 5);
    const damage = await turn();
    assert.deepEqual(
      damage.map(({ kind, id }) => [kind, id]),
      [['evidence', altered]],
    );
    await holdSigned(honest, events[honest] ?? []);
    assert.equal((await newest(altered)).size, 600);
    // Later turns, also of another process, do not sign for it either.
    await record(altered, 300);
    assert.equal((await turn()).length, 1);
    assert.equal((await newest(altered)).size, 600);
  });

  test('that cannot be read or contradict a checkpoint hold up no other, and go on from their place once mended', async () => {
    const { storage } = engine;
    const [sound, unreadable] = [randomUUID(), randomUUID()];
    const events = { [sound]: await record(sound, 300), [unreadable]: await record(unreadable, 300) };
    await turn();
    const stoppedAt = nextSeq;
    await storage.insertRows('evidence_checkpoints', [{ org: unreadable, size: 300, note: 'no note' }]);
    for (const organization of [sound, unreadable])
      events[organization]?.push(...(await record(organization, 10)));
    const damage = (await turn()).filter(({ id }) => id === sound || id === unreadable);
    assert.deepEqual(
      damage.map(({ kind, id }) => [kind, id]),
      [['evidence', unreadable]],
    );
    await holdSigned(sound, events[sound] ?? []);
    const places = async () => {
      const progress = await readProgress(storage);
      return [watermarkOf(progress, sound), watermarkOf(progress, unreadable)];
    };
    assert.deepEqual(await places(), [nextSeq, stoppedAt]);
    // Later turns leave it where it is.
    for (const organization of [sound, unreadable])
      events[organization]?.push(...(await record(organization, 3)));
    assert.ok((await turn()).some(({ id }) => id === unreadable));
    assert.deepEqual(await places(), [nextSeq, stoppedAt]);
    await storage.command(
      "ALTER TABLE evidence_checkpoints DELETE WHERE org = {org:UUID} AND note = 'no note' SETTINGS mutations_sync = 2",
      { org: unreadable },
    );
    events[sound]?.push(...(await record(sound, 1)));
    assert.ok(!(await turn()).some(({ id }) => id === unreadable));
    await holdSigned(sound, events[sound] ?? []);
    await holdSigned(unreadable, events[unreadable] ?? []);
    assert.deepEqual(await places(), [nextSeq, nextSeq]);
  });

  test('of processes that share an engine are one', async () => {
    const organization = randomUUID();
    const events = await record(organization, 100);
    const both = [randomUUID(), randomUUID()].map((instance) => builder(instance, 20));
    for (let n = 0; n < 5; n++) {
      events.push(...(await record(organization, 100)));
      await eventually('a checkpoint of all', async () => {
        const [found] = await checkpoints.newest([organization]);
        return found?.size === events.length ? true : undefined;
      });
    }
    await both[0]?.stop();
    events.push(...(await record(organization, 100)));
    await both[1]?.stop();
    assert.deepEqual(
      both.flatMap(({ damage }) => damage.list()).filter(({ id }) => id === organization),
      [],
    );
    await holdSigned(organization, events);
    for (const { size, root } of await checkpoints.spread(organization, 1000))
      assert.equal(Buffer.from(root).toString('hex'), rootOf(events.slice(0, size)));
  });

  test('are left alone by a process that stood still while another took over', async () => {
    const organization = randomUUID();
    await record(organization, 20);
    const still = builder(randomUUID(), 60_000, async () => {
      // Between taking the lease and its first slice: the engine knows another holder by then.
      await engine.storage.insertRows('leases', [
        { name: 'trees', owner: randomUUID(), held: true, number: 1_000_000, lasts: 0, version: 1 },
      ]);
      return nextSeq;
    });
    await still.stop();
    assert.deepEqual(await checkpoints.newest([organization]), []);
  });

  test('at a stop cover stored events below the watermark a moment later', async () => {
    const organization = randomUUID();
    const before = nextSeq;
    const events = await record(organization, 20);
    let asked = 0;
    const one = builder(randomUUID(), 60_000, async () => (++asked < 3 ? before : nextSeq));
    await one.stop();
    assert.equal(asked, 3);
    await holdSigned(organization, events);
  });

  test('show for an event whether it is covered as recorded, or the reason why not', async () => {
    const organization = randomUUID();
    const [first, second] = await record(organization, 2);
    await turn();
    const { storage } = engine;
    const readerWithin = (withinMs: number | undefined) =>
      new EvidenceReader({
        storage,
        tiles,
        checkpoints,
        key,
        retentionCutOff: () => undefined,
        signsWithinMs: () => withinMs,
      });
    const reader = readerWithin(30_000);
    const why = async (one: EvidenceReader, seq: bigint) => {
      const error: unknown = await one.inclusion(organization, { seq }).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof Problem);
      return [error.options.members?.['evidence'], error.options.retryAfterSeconds];
    };
    assert.equal((await reader.inclusion(organization, { seq: first?.seq ?? 0n })).asRecorded, true);
    assert.deepEqual(await why(reader, nextSeq + 5n), ['pending', 30]);
    assert.deepEqual(await why(readerWithin(undefined), nextSeq + 5n), ['off', undefined]);
    assert.deepEqual(await why(reader, (first?.seq ?? 0n) + 1n), ['absent', undefined]);
    await engine.storage.command(
      `ALTER TABLE events UPDATE source = '{}' WHERE org = {organization:UUID} AND seq = {seq:UInt64}
       SETTINGS mutations_sync = 1`,
      { organization, seq: second?.seq ?? 0n },
    );
    assert.equal((await reader.inclusion(organization, { position: 1 })).asRecorded, false);
    await assert.rejects(reader.inclusion(organization, { position: 1 }, 1), /"size" must be above 1/);
    // Of what lies behind the tree nobody can tell whether it will come.
    for (const asked of [
      () => reader.inclusion(organization, { position: 2 }),
      () => reader.inclusion(organization, { position: 1 }, 3),
      () => reader.checkpoint(organization, 3),
      () => reader.consistency(organization, 3),
    ])
      await assert.rejects(asked, { code: 'not_found', options: {} });
  });

  test('are signed by one key, and by another only when that one has said so', async () => {
    const pair = (seed: number, previous?: number) => ({
      name: 'service',
      seed: Buffer.alloc(32, seed),
      previousSeed: previous === undefined ? undefined : Buffer.alloc(32, previous),
    });
    const { storage } = engine;
    await assert.rejects(new LogKey(pair(4)).publish(storage), ForeignKeyError);
    await assert.rejects(new LogKey(pair(4, 5)).publish(storage), ForeignKeyError);
    await new LogKey(pair(4, 3)).publish(storage);
    const keys = await readKeys(storage);
    assert.equal(keys.length, 2);
    assert.match(
      keys[1]?.statement ?? '',
      /^auditlog evidence: the next key\nservice\+.*\n\n\u2014 service /,
    );
    await assert.rejects(new LogKey(pair(3)).publish(storage), /has been replaced/);
    await new LogKey(pair(4)).publish(storage);
    // Since then the engine's clock was set back by a day.
    const [, published] = keys;
    const { key: ahead, statement } = published ?? assert.fail('the second key is published');
    const gone = 'ALTER TABLE evidence_keys DELETE WHERE key = {ahead:String}';
    await storage.command(gone, { ahead }, { settings: { mutations_sync: 2 } });
    const added = new Date(Date.now() + 86_400_000).toISOString().slice(0, -1);
    await storage.insertRows('evidence_keys', [{ key: ahead, statement, added }]);
    await new LogKey(pair(5, 4)).publish(storage);
    assert.deepEqual(
      (await readKeys(storage)).slice(0, 2).map((one) => one.key),
      keys.map((one) => one.key),
    );
    await new LogKey(pair(5)).publish(storage);
  });
});

test('slices hold few events, and one organization that has more', () => {
  const max = limits.sliceEventsMax;
  const counts = new Map([
    ['a', 5],
    ['b', max - 5],
    ['c', 1],
    ['d', max * 3],
    ['e', 2],
  ]);
  assert.deepEqual(
    divideSlices(counts).map(({ organizations }) => organizations.join('')),
    ['ab', 'c', 'd', 'e'],
  );
  const many = new Map(Array.from({ length: limits.sliceOrganizationsMax + 1 }, (_, n) => [String(n), 1]));
  assert.deepEqual(
    divideSlices(many).map(({ events }) => events),
    [limits.sliceOrganizationsMax, 1],
  );
});
