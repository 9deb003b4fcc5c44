import type { Lab } from './lab.ts';
import { batchEvents, writeDataset } from '../lab/dataset.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGrowth } from './growth.ts';
import { UserError } from './user-error.ts';

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
  /** How many events of the organization a condition in SQL matches. */
  matches(where: string): Promise<number>;
  /** A flow in the middle of the data. */
  flow(): Promise<string>;
  /** RFC 3339 of the moment before which that share of the rows lies. */
  timeAt(share: number): string;
}

const seedEvents = 20_000;
const smallOrganizations = 1000;
const smallEvents = 100;
const insertRows = 500_000;
/** So many events are by the rare actor, on the rare file, however many rows there are: all among the first tenth. */
const rareEvents = 40;
const days = 30;
const factsName = 'bench-data.json';
/** Recorded in one month of ingest, which is a partition of the table: what is merged at once stays bounded. */
const rowsPerMonth = 10_000_000;
/** 31 days in ticks of `seq` (10 ms), and the first place in the order. */
const ticksPerMonth = 267_840_000;
const firstSeq = 35_184_372_088_832;

/** Values of a column that the generated events get, by column; only columns that the table has are replaced. */
function replacements(
  org: string,
  { microsFrom, microsStep, rowsMax }: Pick<Facts, 'microsFrom' | 'microsStep' | 'rowsMax'>,
): Record<string, string> {
  const micros = `toInt64(${microsFrom} + n * ${microsStep} + cityHash64(n) % ${Math.max(1, Math.floor(microsStep / 2))})`;
  const tenth = Math.floor(rowsMax / 10);
  const rare = `n < ${tenth} AND n % ${Math.max(1, Math.floor(tenth / rareEvents))} = 11`;
  return {
    org,
    time: `fromUnixTimestamp64Micro(${micros}, 'UTC')`,
    seq: `bitShiftLeft(toUInt64(intDiv(n, ${rowsPerMonth}) * ${ticksPerMonth}), 26) + n % ${rowsPerMonth} + ${firstSeq}`,
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
  await engine.query(`CREATE TABLE ${bareDatabase}.seeds ENGINE = MergeTree ORDER BY bench_k AS SELECT *, rowNumberInAllBlocks() AS bench_k
    FROM ${database}.events WHERE toString(source) LIKE '%"org":"${slug}"%' LIMIT ${seedEvents}`);
  await engine.query(`TRUNCATE TABLE ${database}.events`);
}

/** What a data directory that is kept has to know about its own content. */
interface Facts {
  readonly format: 1;
  /** How many rows the times of the events are laid out for, and how many there are. */
  readonly rowsMax: number;
  readonly rows: number;
  readonly id: string;
  readonly key: string;
  readonly microsFrom: number;
  readonly microsStep: number;
  readonly wanted: Readonly<Record<'actor' | 'name' | 'userId' | 'hash', Wanted>>;
}

function saveFacts(lab: Lab, facts: Facts): void {
  if (lab.keptIn === undefined) return;
  // Only for its owner: it holds a key of the service beside it.
  writeFileSync(join(lab.keptIn, factsName), `${JSON.stringify(facts)}\n`, { mode: 0o600 });
}

/** The facts of a directory that has been used before. */
function loadFacts(lab: Lab, rowsMax: number): Facts | undefined {
  if (lab.keptIn === undefined) return undefined;
  const path = join(lab.keptIn, factsName);
  if (!existsSync(path)) return undefined;
  const facts = JSON.parse(readFileSync(path, 'utf8')) as Facts;
  if (facts.format !== 1 || facts.rowsMax !== rowsMax)
    throw new UserError(
      `${lab.keptIn} holds ${facts.rowsMax} events: use --rows ${facts.rowsMax} or another --data`,
    );
  return facts;
}

/** Adds generated events [from, from + count) of an organization, which is an SQL expression. */
async function generate(
  lab: Lab,
  org: string,
  layout: Pick<Facts, 'microsFrom' | 'microsStep' | 'rowsMax'>,
  from: number,
  count: number,
): Promise<void> {
  const { engine, database, bareDatabase } = lab;
  const columnList = await engine.query(
    `SELECT name FROM system.columns WHERE database = '${database}' AND table = 'events' FORMAT TSVRaw`,
  );
  const columns = new Set(columnList.trim().split('\n'));
  const replaced = Object.entries(replacements(org, layout))
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

/** Seeds, the small organizations, and an empty large one. */
async function begin(lab: Lab, rowsMax: number): Promise<Facts> {
  const { id, slug, key } = await lab.organization('reads');
  await makeSeeds(lab, slug, key);
  const micros = days * 86_400_000_000;
  const microsFrom = Date.now() * 1000 - micros;
  const small = smallOrganizations * smallEvents;
  // An organization for each run of events: ids from the number, so that they lie all around the large one.
  const org = `reinterpretAsUUID(MD5(toString(n % ${smallOrganizations})))`;
  await generate(lab, org, { microsFrom, microsStep: Math.floor(micros / small), rowsMax: small }, 0, small);
  const wanted = async (column: string, rare: string, none: string): Promise<Wanted> => ({
    frequent: await mostFrequent(lab, column),
    rare,
    none,
  });
  return {
    format: 1,
    rowsMax,
    rows: 0,
    id,
    key,
    microsFrom,
    microsStep: Math.floor(micros / rowsMax),
    wanted: {
      actor: await wanted('actor_email', 'rare@acme.example', 'nobody@acme.example'),
      name: await wanted('arrayJoin(names)', 'rare.bin', 'none.bin'),
      userId: await wanted('actor_id', 'rare-user', 'no-user'),
      hash: await wanted('arrayJoin(file_hash)', `${'0'.repeat(63)}1`, '0'.repeat(64)),
    },
  };
}

/**
 * Merges each partition to one part: how far merges have come must not differ from run to run. One after the other,
 * so that there is room on the disk for a copy of one, and something to tell meanwhile.
 */
async function mergeAll(
  { engine, database }: Lab,
  merged: (done: number, all: number) => void,
): Promise<void> {
  const list = await engine.query(
    `SELECT partition_id FROM system.parts WHERE active AND database = '${database}' AND table = 'events'
     GROUP BY partition_id HAVING count() > 1 ORDER BY partition_id FORMAT TSVRaw`,
  );
  const partitions = list.split('\n').filter((id) => id !== '');
  for (const [done, id] of partitions.entries()) {
    merged(done, partitions.length);
    await engine.query(`OPTIMIZE TABLE ${database}.events PARTITION ID '${id}' FINAL`);
  }
}

/** An organization to read from; holds nothing until it has grown, or what is kept from before. Its events lie in 30 days. */
export async function prepareReads(lab: Lab, rowsMax: number): Promise<ReadData> {
  const { engine, database } = lab;
  let facts = loadFacts(lab, rowsMax) ?? (await begin(lab, rowsMax));
  const { id, microsFrom, microsStep } = facts;
  return {
    id,
    key: facts.key,
    ...facts.wanted,
    async growTo(wantedRows) {
      if (facts.rows >= wantedRows) return;
      const growth = createGrowth(lab, facts.rows, wantedRows);
      while (facts.rows < wantedRows) {
        const count = Math.min(insertRows, wantedRows - facts.rows);
        await generate(lab, `toUUID('${id}')`, facts, facts.rows, count);
        facts = { ...facts, rows: facts.rows + count };
        saveFacts(lab, facts);
        await growth.inserted(facts.rows);
      }
      await mergeAll(lab, growth.merging);
      await engine.mergesDone();
      growth.done();
    },
    rows: () => facts.rows,
    matches: (where) =>
      engine.number(`SELECT count() FROM ${database}.events WHERE org = '${id}' AND ${where}`),
    async flow() {
      const at = `fromUnixTimestamp64Micro(${microsFrom + Math.floor((facts.rows / 2) * microsStep)}, 'UTC')`;
      const sql =
        `SELECT flow_id FROM ${database}.events WHERE org = '${id}' AND time >= ${at} AND ` +
        "flow_id != toUUID('00000000-0000-0000-0000-000000000000') LIMIT 1 FORMAT TSVRaw";
      return (await engine.query(sql)).trim();
    },
    timeAt: (share) => new Date((microsFrom + facts.rows * share * microsStep) / 1000).toISOString(),
  };
}
