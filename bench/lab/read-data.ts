import type { Lab } from './lab.ts';
import { batchEvents, writeDataset } from '../lab/dataset.ts';
import { join } from 'node:path';

/** Who is asked for in filtered reads; `none` matches nothing. */
export interface Wanted {
  readonly frequent: string;
  readonly rare: string;
  readonly none: string;
}

/** An organization with many events, among many small ones. */
export interface ReadData {
  readonly id: string;
  readonly key: string;
  readonly actor: Wanted;
  readonly name: Wanted;
  readonly userId: Wanted;
  readonly hash: Wanted;
  /** Adds generated events until the organization has that many; then waits until merges are done. */
  growTo(rows: number): Promise<void>;
  rows(): number;
  /** A flow in the middle of the data. */
  flow(): Promise<string>;
  /** RFC 3339 of the moment before which that share of the rows lies. */
  timeAt(share: number): string;
}

const seedEvents = 20_000;
const smallOrganizations = 1000;
const smallEvents = 100;
const insertRows = 500_000;
/** Every so many events one is by the rare actor, on the rare file: 40 of 10 million. */
const rareEvery = 250_007;
const days = 30;

/** Values of a column that the generated events get, by column; only columns that the table has are replaced. */
function replacements(org: string, microsFrom: number, microsStep: number): Record<string, string> {
  const micros = `toInt64(${microsFrom} + n * ${microsStep} + cityHash64(n) % ${Math.max(1, Math.floor(microsStep / 2))})`;
  const rare = `n % ${rareEvery} = 11`;
  return {
    org,
    time: `fromUnixTimestamp64Micro(${micros}, 'UTC')`,
    seq: 'n + 35184372088832',
    // The text begins with "time": and sixteen digits.
    ocsf: `concat('"time":', toString(${micros}), substring(ocsf, 24))`,
    flow_id: `if(flow_id = toUUID('00000000-0000-0000-0000-000000000000'), flow_id, reinterpretAsUUID(MD5(concat(toString(flow_id), toString(intDiv(n, ${seedEvents}))))))`,
    actor_email: `if(${rare}, 'rare@acme.example', actor_email)`,
    actor_id: `if(${rare}, 'rare-user', actor_id)`,
    names: `if(${rare}, ['rare.bin'], names)`,
    file_hash: `if(${rare}, ['${'0'.repeat(63)}1'], file_hash)`,
  };
}

/** One value of a column of the seeds: the one that most events have. */
async function mostFrequent(lab: Lab, expression: string): Promise<string> {
  const sql =
    `SELECT ${expression} AS value FROM ${lab.bareDatabase}.seeds WHERE value != '' ` +
    'GROUP BY value ORDER BY count() DESC LIMIT 1 FORMAT TSVRaw';
  return (await lab.engine.query(sql)).trim();
}

/** Events sent through the service, kept as what the generated ones are made of. */
async function makeSeeds(lab: Lab, slug: string, key: string): Promise<void> {
  const dataset = await writeDataset(join(lab.directory, 'seeds.ndjson'), seedEvents, [slug]);
  const { host, port } = lab.service;
  const head = `POST /api/v1/audit HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\nContent-Type: application/x-ndjson\r\n`;
  const before = await lab.events();
  await lab.generator.run({
    targets: [{ host, port }],
    heads: [head],
    steps: dataset.batches.map((body) => [{ target: 0, head: 0, body }]),
    clients: 4,
    stop: { steps: dataset.batches.length },
    dataFile: dataset.path,
    status: 202,
  });
  await lab.visible(before + dataset.batches.length * batchEvents);
  const { database, bareDatabase, engine } = lab;
  await engine.query(`CREATE TABLE ${bareDatabase}.seeds ENGINE = Memory AS SELECT *, rowNumberInAllBlocks() AS bench_k
    FROM ${database}.events WHERE toString(source) LIKE '%"org":"${slug}"%' LIMIT ${seedEvents}`);
  await engine.query(`TRUNCATE TABLE ${database}.events`);
}

/** An organization to read from; holds nothing until it has grown. Events lie in the last 30 days. */
export async function prepareReads(lab: Lab, rowsMax: number): Promise<ReadData> {
  const { id, slug, key } = await lab.organization('reads');
  await makeSeeds(lab, slug, key);
  const { engine, database, bareDatabase } = lab;
  const columnList = await engine.query(
    `SELECT name FROM system.columns WHERE database = '${database}' AND table = 'events' FORMAT TSVRaw`,
  );
  const columns = new Set(columnList.trim().split('\n'));
  const microsStep = Math.floor((days * 86_400_000_000) / rowsMax);
  const microsFrom = Date.now() * 1000 - days * 86_400_000_000;
  let rows = 0;

  async function generate(org: string, from: number, count: number, step = microsStep): Promise<void> {
    const replaced = Object.entries(replacements(org, microsFrom, step))
      .filter(([name]) => columns.has(name))
      .map(([name, expression]) => `${expression} AS ${name}`);
    // Seeds are matched by position, so that every run of rows has all kinds of events.
    await engine.query(
      `INSERT INTO ${database}.events SELECT * EXCEPT (n, bench_k) REPLACE (${replaced.join(', ')})
       FROM (SELECT s.*, g.number AS n FROM numbers(${from}, ${count}) AS g
             INNER JOIN ${bareDatabase}.seeds AS s ON s.bench_k = g.number % ${seedEvents})`,
      {
        max_insert_threads: 1,
        max_threads: 2,
        min_insert_block_size_rows: 200_000,
        min_insert_block_size_bytes: 0,
      },
    );
  }

  const small = smallOrganizations * smallEvents;
  // An organization for each run of events: ids from the number, so that they lie all around the large one.
  await generate(
    `reinterpretAsUUID(MD5(toString(n % ${smallOrganizations})))`,
    0,
    small,
    Math.floor((days * 86_400_000_000) / small),
  );
  const wanted = (frequent: string, rare: string, none: string): Wanted => ({ frequent, rare, none });
  return {
    id,
    key,
    actor: wanted(await mostFrequent(lab, 'actor_email'), 'rare@acme.example', 'nobody@acme.example'),
    name: wanted(await mostFrequent(lab, 'arrayJoin(names)'), 'rare.bin', 'none.bin'),
    userId: wanted(await mostFrequent(lab, 'actor_id'), 'rare-user', 'no-user'),
    hash: wanted(await mostFrequent(lab, 'arrayJoin(file_hash)'), `${'0'.repeat(63)}1`, '0'.repeat(64)),
    async growTo(wantedRows) {
      while (rows < wantedRows) {
        const count = Math.min(insertRows, wantedRows - rows);
        await generate(`toUUID('${id}')`, rows, count);
        rows += count;
      }
      // One part a month: how far merges have come must not differ from run to run.
      await engine.query(`OPTIMIZE TABLE ${database}.events FINAL`);
      await engine.mergesDone();
    },
    rows: () => rows,
    async flow() {
      const at = `fromUnixTimestamp64Micro(${microsFrom + Math.floor((rows / 2) * microsStep)}, 'UTC')`;
      const sql =
        `SELECT flow_id FROM ${database}.events WHERE org = '${id}' AND time >= ${at} AND ` +
        "flow_id != toUUID('00000000-0000-0000-0000-000000000000') LIMIT 1 FORMAT TSVRaw";
      return (await engine.query(sql)).trim();
    },
    timeAt: (share) => new Date((microsFrom + rows * share * microsStep) / 1000).toISOString(),
  };
}
