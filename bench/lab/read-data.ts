import type { Engine } from './engine.ts';
import type { Lab } from './lab.ts';
import { batchEvents, writeDataset } from '../lab/dataset.ts';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGrowth, type Growth } from './growth.ts';
import { type Facts, loadFacts, saveFacts, type Wanted } from './kept-data.ts';

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
  /** A flow of 120 events that lie far apart. */
  readonly farFlow: string;
  /** The time (RFC 3339) before which this share of the rows lies. */
  timeAt(share: number): string;
}

const seedEvents = 20_000;
const smallOrganizations = 1000;
const smallEvents = 100;
const insertRows = 500_000;
const mutationPollMs = 5_000;
const mergeSecondsMax = 7_200;
/** Events of the rare actor or file, with any number of rows; all are in the first tenth. */
const rareEvents = 40;
const days = 30;
/** Events of the scattered flow, with any number of rows. */
const farFlow = 'fafafafa-0000-4000-8000-000000000001';
const farFlowEvents = 120;
/** Rows of one month of ingest, a partition, which bounds a merge. */
const rowsPerMonth = 10_000_000;
/** 31 days in ticks of `seq` (10 ms), and the first place in the order. */
const ticksPerMonth = 267_840_000;
const firstSeq = 35_184_372_088_832;

/** An event's position in the order of ingest; `n` is its number as SQL. */
const seqOf = (n: string | number): string =>
  `bitShiftLeft(toUInt64(intDiv(${n}, ${rowsPerMonth}) * ${ticksPerMonth}), 26) + ${n} % ${rowsPerMonth} + ${firstSeq}`;

/** Values of the generated events, by column; only columns of the table are replaced. */
function replacements(
  org: string,
  { microsFrom, microsStep, rowsMax }: Pick<Facts, 'microsFrom' | 'microsStep' | 'rowsMax'>,
): Record<string, string> {
  const micros = `toInt64(${microsFrom} + n * ${microsStep} + cityHash64(n) % ${Math.max(1, Math.floor(microsStep / 2))})`;
  const tenth = Math.floor(rowsMax / 10);
  const farStep = Math.max(1, Math.floor(rowsMax / farFlowEvents));
  const rare = `n < ${tenth} AND n % ${Math.max(1, Math.floor(tenth / rareEvents))} = 11`;
  return {
    org,
    time: `fromUnixTimestamp64Micro(${micros}, 'UTC')`,
    seq: seqOf('n'),
    // The text begins with "time": and sixteen digits.
    ocsf: `concat('"time":', toString(${micros}), substring(ocsf, 24))`,
    flow_id: `multiIf(n % ${farStep} = 7, toUUID('${farFlow}'), flow_id = toUUID('00000000-0000-0000-0000-000000000000'), flow_id, reinterpretAsUUID(MD5(concat(toString(flow_id), toString(intDiv(n, ${seedEvents}))))))`,
    actor_email: `if(${rare}, 'rare@acme.example', actor_email)`,
    actor_id: `if(${rare}, 'rare-user', actor_id)`,
    names: `if(${rare}, ['rare.bin'], names)`,
    file_hash: `if(${rare}, ['${'0'.repeat(63)}1'], file_hash)`,
  };
}

/** The most frequent value of a column of the seeds. */
async function mostFrequent(lab: Lab, expression: string): Promise<string> {
  const sql =
    `SELECT ${expression} AS value FROM ${lab.bareDatabase}.seeds WHERE value != '' ` +
    'GROUP BY value ORDER BY count() DESC LIMIT 1 FORMAT TSVRaw';
  return (await lab.engine.query(sql)).trim();
}

/** Events sent through the service, as templates of the generated ones. */
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

/**
 * Adds generated events [from, from + count) of an organization (an SQL expression) for which `missing`, a condition on `n`, is
 * true.
 */
async function generate(
  lab: Lab,
  org: string,
  layout: Pick<Facts, 'microsFrom' | 'microsStep' | 'rowsMax'>,
  { from, count, missing = '1' }: { from: number; count: number; missing?: string },
): Promise<void> {
  const { engine, database, bareDatabase } = lab;
  const columnList = await engine.query(
    `SELECT name FROM system.columns WHERE database = '${database}' AND table = 'events' FORMAT TSVRaw`,
  );
  const columns = new Set(columnList.trim().split('\n'));
  const replaced = Object.entries(replacements(org, layout))
    .filter(([name]) => columns.has(name))
    .map(([name, expression]) => `${expression} AS ${name}`);
  // Seeds are matched by position, so that every range of rows has all kinds of events.
  await engine.query(
    `INSERT INTO ${database}.events SELECT * EXCEPT (n, bench_k) REPLACE (${replaced.join(', ')})
     FROM (SELECT s.*, g.number AS n FROM numbers(${from}, ${count}) AS g
           INNER JOIN ${bareDatabase}.seeds AS s ON s.bench_k = g.number % ${seedEvents})
     WHERE ${missing}`,
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
  // An organization for each range of events; ids follow from the number, so that they surround the large one.
  const org = `reinterpretAsUUID(MD5(toString(n % ${smallOrganizations})))`;
  await generate(
    lab,
    org,
    { microsFrom, microsStep: Math.floor(micros / small), rowsMax: small },
    { from: 0, count: small },
  );
  const wanted = async (column: string, rare: string, none: string): Promise<Wanted> => ({
    frequent: await mostFrequent(lab, column),
    rare,
    none,
  });
  return {
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
 * The engine's own merges may hold a partition's parts. An OPTIMIZE then fails after two minutes, whatever its settings, and is
 * repeated.
 */
async function mergeToOne(engine: Engine, optimize: string): Promise<void> {
  const deadline = performance.now() + mergeSecondsMax * 1000;
  for (;;) {
    try {
      await engine.query(optimize, { optimize_throw_if_noop: 1 });
      return;
    } catch (error) {
      const held = String(error).includes('CANNOT_ASSIGN_OPTIMIZE');
      if (!held || performance.now() > deadline) throw error;
    }
  }
}

/**
 * Merges each partition to one part, so that runs do not differ in their merges. One after the other, which needs space for one
 * copy only and shows progress. An earlier run may have been interrupted, or may lack columns of a newer migration.
 */
async function mergeAll({ engine, database }: Lab, growth: Growth): Promise<void> {
  const ofTable = `database = '${database}' AND table = 'events'`;
  const divided = async (): Promise<string[]> => {
    const list = await engine.query(
      `SELECT partition_id FROM system.parts WHERE active AND ${ofTable}
       GROUP BY partition_id HAVING count() > 1 ORDER BY partition_id FORMAT TSVRaw`,
    );
    return list.split('\n').filter((id) => id !== '');
  };
  for (let [id] = await divided(); id !== undefined; [id] = await divided()) {
    growth.merging(id);
    await mergeToOne(engine, `OPTIMIZE TABLE ${database}.events PARTITION ID '${id}' FINAL`);
  }
  for (;;) {
    const left = await engine.number(
      `SELECT sum(parts_to_do) FROM system.mutations WHERE NOT is_done AND ${ofTable}`,
    );
    if (left === 0) return;
    growth.mutating(left);
    await sleep(mutationPollMs);
  }
}

/** A condition on the numbers of the range that an interrupted INSERT has not stored. */
function missingOf({ database }: Lab, id: string, from: number, count: number): string {
  const stored = `SELECT seq FROM ${database}.events WHERE org = toUUID('${id}')`;
  return `${seqOf('n')} NOT IN (${stored} AND seq >= ${seqOf(from)} AND seq <= ${seqOf(from + count - 1)})`;
}

/**
 * Adds events up to this number. Merges wait until a partition is full, so that each event is merged once; otherwise merges would
 * take most of the time.
 */
async function fill(lab: Lab, start: Facts, rows: number, growth: Growth): Promise<Facts> {
  const { engine, database } = lab;
  let facts = start;
  await engine.query(`SYSTEM STOP MERGES ${database}.events`);
  while (facts.rows < rows) {
    const from = facts.rows;
    const count = Math.min(insertRows, rows - from, rowsPerMonth - (from % rowsPerMonth));
    // An earlier run may have stored a part of the first range.
    const missing = facts === start ? missingOf(lab, facts.id, from, count) : '1';
    await generate(lab, `toUUID('${facts.id}')`, facts, { from, count, missing });
    facts = { ...facts, rows: from + count };
    saveFacts(lab.keptIn, facts);
    await growth.inserted(facts.rows);
    if (facts.rows % rowsPerMonth > 0 && facts.rows < rows) continue;
    await engine.query(`SYSTEM START MERGES ${database}.events`);
    await mergeAll(lab, growth);
    if (facts.rows < rows) await engine.query(`SYSTEM STOP MERGES ${database}.events`);
  }
  return facts;
}

/** An organization for reads, empty or with kept data. Its events are in 30 days. */
export async function prepareReads(lab: Lab, rowsMax: number): Promise<ReadData> {
  const { engine, database } = lab;
  let facts = loadFacts(lab.keptIn) ?? (await begin(lab, rowsMax));
  const { id, microsFrom, microsStep } = facts;
  return {
    id,
    key: facts.key,
    ...facts.wanted,
    farFlow,
    async growTo(wantedRows) {
      const growth = createGrowth(lab, facts.rows, wantedRows);
      if (facts.rows < wantedRows) facts = await fill(lab, facts, wantedRows, growth);
      await mergeAll(lab, growth);
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
