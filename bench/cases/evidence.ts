import { join } from 'node:path';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { exportEvidence } from '../../src/cli/export-evidence.ts';
import { verifyEngine } from '../../src/cli/verify/engine.ts';
import { openFileSource } from '../../src/tools/import-source.ts';
import { verifyFile } from '../../src/tools/verify/file.ts';
import type { Report } from '../../src/tools/verify/report.ts';
import { readControlState } from '../../src/control/directory.ts';
import { findOrganization } from '../../src/control/organizations.ts';
import { Builder } from '../../src/evidence/builder.ts';
import { CheckpointTable } from '../../src/evidence/checkpoint-table.ts';
import { LogKey, readKeys } from '../../src/evidence/log-key.ts';
import { TileTable } from '../../src/evidence/tile-table.ts';
import { openStorage } from '../../src/storage/client.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { sideBySide, type Slice } from '../lab/side-by-side.ts';
import type { CaseResult } from '../stats/result.ts';

/** Enough, as both sides process each event once. */
const eventsMax = 2_000_000;
const rounds = 4;
const turnMsMax = 600_000;
const log = createLogger('silent');
const io = { error: (): void => undefined };
const serviceName = 'bench';

/** Some events of the large organization in a separate database, where no service adds them to a tree. */
interface Copied {
  readonly storage: Storage;
  readonly id: string;
  readonly events: number;
  /** The order number below which this many of the events are. */
  before(events: number): Promise<bigint>;
  close(): Promise<void>;
}

async function copyEvents(lab: Lab, data: ReadData): Promise<Copied> {
  const { engine, database } = lab;
  const own = `${database}_evidence`;
  await engine.query(`CREATE DATABASE ${own}`);
  const storage = openStorage({ ...engine.access, database: own }, log);
  await migrate(storage, { log });
  await engine.query(`INSERT INTO ${own}.journal SELECT * FROM ${database}.journal`);
  const events = Math.min(eventsMax, data.rows());
  await engine.query(
    `INSERT INTO ${own}.events SELECT * FROM ${database}.events WHERE org = '${data.id}'
     AND seq IN (SELECT seq FROM ${database}.events WHERE org = '${data.id}' ORDER BY seq LIMIT ${events})`,
    { max_threads: 2, min_insert_block_size_rows: 200_000, min_insert_block_size_bytes: 0 },
  );
  await engine.mergesDone();
  return {
    storage,
    id: data.id,
    events,
    async before(count) {
      const rows = await storage.readRows<{ last: string }>(
        'SELECT max(seq) AS last FROM (SELECT seq FROM events ORDER BY seq LIMIT {count:UInt64})',
        { count },
      );
      return BigInt(rows[0]?.last ?? 0) + 1n;
    },
    async close() {
      await storage.close();
      await engine.query(`DROP DATABASE ${own}`);
    },
  };
}

async function timed(units: number, run: () => Promise<unknown>): Promise<Slice> {
  const began = performance.now();
  await run();
  return { units, seconds: (performance.now() - began) / 1000 };
}

/** Lower bound of a tree's cost: the engine hashes each source event once. */
const bareHashes = (lab: Lab, where = '1', threads = 1): Promise<string> =>
  lab.engine.query(
    `SELECT sum(cityHash64(SHA256(source))) FROM ${lab.database}_evidence.events WHERE ${where}`,
    { max_threads: threads },
  );

/** Builds trees and checkpoints of stored events, without the service's pauses. */
async function benchBuild(lab: Lab, copied: Copied, key: LogKey): Promise<CaseResult> {
  const { storage, events } = copied;
  const ends = await Promise.all(
    Array.from({ length: rounds + 1 }, (_, round) => copied.before(Math.floor((events * round) / rounds))),
  );
  const endOf = (round: number): bigint => ends[round] ?? 0n;
  let round = 0;
  const builder = new Builder({
    storage,
    tiles: new TileTable(storage),
    checkpoints: new CheckpointTable(storage),
    key,
    lease: undefined,
    watermark: async () => endOf(round),
    intervalMs: 600_000,
    shareOfMachine: Infinity,
    stopMsMax: 1_000,
    damage: new DamageRegister(),
    log,
  });
  const result = await sideBySide(lab, {
    id: 'evidence.build',
    title: `${events} events into their tree, and signed for`,
    unit: 'events',
    rounds,
    pid: process.pid,
    service: (next) => {
      round = next + 1;
      return timed(events / rounds, () => builder.turn(AbortSignal.timeout(turnMsMax)));
    },
    reference: {
      name: 'bare SELECT SHA256(source)',
      run: (slice) =>
        timed(events / rounds, () => bareHashes(lab, `seq >= ${endOf(slice)} AND seq < ${endOf(slice + 1)}`)),
    },
  });
  await builder.stop();
  return result;
}

function holdTo(events: number, report: Report): void {
  const words = JSON.stringify(report.findings);
  if (report.findings.length > 0 || report.events !== events)
    throw new Error(`verify finds ${report.events} events of ${events}, and ${words}`);
}

/** Verifies the events in the engine, and a file of them, with their checkpoints. */
async function benchVerify(lab: Lab, copied: Copied, key: LogKey): Promise<CaseResult[]> {
  const { storage, id, events } = copied;
  const session = {
    storage,
    isShared: false,
    config: { serviceName, dataDir: lab.directory, clickhouse: { url: undefined } },
    deps: { io },
  };
  const engine = await sideBySide(lab, {
    id: 'evidence.verify',
    title: `verify --org: ${events} events in the engine against their tree`,
    unit: 'events',
    rounds,
    pid: process.pid,
    service: () => timed(events, async () => holdTo(events, await verifyEngine(session, id, {}))),
    reference: {
      name: 'bare SELECT SHA256(source), two threads',
      run: () => timed(events, () => bareHashes(lab, '1', 2)),
    },
  });
  const organization = findOrganization(await readControlState(storage), id);
  const file = join(lab.directory, 'evidence.ndjson.gz');
  const record = async (): Promise<void> => undefined;
  await exportEvidence(
    { storage, deps: { io } },
    { organization, filter: {}, isFiltered: false, file, record, stop: new AbortController().signal },
  );
  const [published] = await readKeys(storage);
  if (published === undefined) throw new Error('no key has signed');
  const trusted = [key.verifierKeyOf(id, published)];
  const ofFile = await sideBySide(lab, {
    id: 'evidence.verify-file',
    title: `verify FILE: ${events} events in an export with gzip`,
    unit: 'events',
    rounds,
    pid: process.pid,
    service: () =>
      timed(events, async () => {
        const source = await openFileSource(file);
        const verified = { path: file, source, text: source.text(0) };
        return holdTo(events, await verifyFile({ io }, verified, { key: trusted }));
      }),
    reference: {
      name: 'the bare engine hashes them, two threads',
      run: () => timed(events, () => bareHashes(lab, '1', 2)),
    },
  });
  return [engine, ofFile];
}

/** Measures the cost of building and verifying trees, in this otherwise idle process. */
export async function benchEvidence(
  lab: Lab,
  data: ReadData,
  wanted: (id: string) => boolean,
): Promise<CaseResult[]> {
  const copied = await copyEvents(lab, data);
  try {
    const key = new LogKey({ name: serviceName, seed: Buffer.alloc(32, 1), previousSeed: undefined });
    // Verification needs the built trees.
    const results = [await benchBuild(lab, copied, key)];
    if (wanted('evidence.verify')) results.push(...(await benchVerify(lab, copied, key)));
    return results.filter(({ id }) => wanted(id));
  } finally {
    await copied.close();
  }
}
