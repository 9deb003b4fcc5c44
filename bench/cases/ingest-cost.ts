import { setTimeout as sleep } from 'node:timers/promises';
import { batchEvents } from '../lab/dataset.ts';
import type { Lab, LabOptions } from '../lab/lab.ts';
import { cpuMicros } from '../lab/process-stats.ts';
import { serviceThreads, type ThreadGroup } from '../lab/thread-stats.ts';
import type { CaseResult } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';
import { batchJob, type IngestLab, insertJob, prepareIngest } from './ingest.ts';

/** Costly parts of the table of events, each with the statement that removes it from an empty table. */
type Part = readonly [name: string, removal: string];

/** Options of the service: its threads have names, and it builds trees while a slice waits for them. */
export const costLab: Omit<LabOptions, 'url'> = {
  namesThreads: true,
  intervals: { evidenceMs: 1000 },
};

/** Milliseconds between checks whether all is stored. */
const lookMs = 500;

const whole = 'whole';
const plain = 'plain';

async function partsOf({ engine, database }: Lab): Promise<Part[]> {
  const names = async (table: string): Promise<string[]> => {
    const where = `database = '${database}' AND table = 'events'`;
    const text = await engine.query(`SELECT name FROM system.${table} WHERE ${where} FORMAT TSV`);
    return text.split('\n').filter((name) => name !== '');
  };
  const drop = (what: string, all: readonly string[]) => all.map((name) => `DROP ${what} ${name}`).join(', ');
  const projections = await names('projections');
  const isCount = (name: string): boolean => name.endsWith('counts');
  return [
    ['counts', drop('PROJECTION', projections.filter(isCount))],
    [
      'positions',
      drop(
        'PROJECTION',
        projections.filter((name) => !isCount(name)),
      ),
    ],
    ['text indexes', drop('INDEX', await names('data_skipping_indices'))],
    ['event_hash', drop('COLUMN', ['event_hash'])],
    ['src_ip', drop('COLUMN', ['src_ip'])],
  ];
}

/** Copies of the service's table, each without one part, and one without any. They do not merge. */
async function makeTables(
  { engine, database, bareDatabase }: Lab,
  parts: readonly Part[],
): Promise<string[]> {
  const table = `${database}.events`;
  const ddl = await engine.query(`SHOW CREATE TABLE ${table} FORMAT TSVRaw`);
  const all: readonly Part[] = [[whole, ''], ...parts, [plain, parts.map(([, one]) => one).join(', ')]];
  for (const [name, removal] of all) {
    const other = `${bareDatabase}.\`${name}\``;
    await engine.query(ddl.replace(table, other));
    await engine.query(`SYSTEM STOP MERGES ${other}`);
    if (removal !== '') await engine.query(`ALTER TABLE ${other} ${removal}`);
  }
  return all.map(([name]) => name);
}

type Costs = Record<ThreadGroup | 'engine' | 'merging', number>;

/** Processor time of the service and its engine so far, in microseconds. */
function costs({ service, engine, directory }: Lab): Omit<Costs, 'merging'> {
  const threads = serviceThreads(service.pid, directory);
  return { ...threads, engine: cpuMicros(engine.access.pid) ?? Number.NaN };
}

/** Waits until the trees of evidence cover all stored events. */
async function inTrees({ engine, database }: Lab): Promise<void> {
  const behind =
    `SELECT (SELECT max(watermark) FROM ${database}.evidence_progress) <= ` +
    `(SELECT max(seq) FROM ${database}.events)`;
  while ((await engine.number(behind)) > 0) await sleep(lookMs);
}

/**
 * Sends a slice, waits until all is stored and in the trees, then merges it: the cost of an event. Merges meanwhile would depend
 * on the machine, so each event is merged once, at the end.
 */
async function costOfSlice(ready: IngestLab, slice: number): Promise<Costs> {
  const { lab } = ready;
  const table = `${lab.database}.events`;
  await lab.engine.query(`TRUNCATE TABLE ${table}`);
  await lab.engine.query(`SYSTEM STOP MERGES ${table}`);
  const before = costs(lab);
  const { steps } = await lab.generator.run(batchJob(ready, slice));
  const events = steps * batchEvents;
  await lab.visible(events, lookMs);
  await inTrees(lab);
  const stored = Object.entries(costs(lab)) as [keyof typeof before, number][];
  const spent = stored.map(([name, micros]) => [name, (micros - before[name]) / events] as const);
  const unmerged = costs(lab).engine;
  await lab.engine.query(`SYSTEM START MERGES ${table}`);
  await lab.engine.query(`OPTIMIZE TABLE ${table} FINAL`);
  const merging = (costs(lab).engine - unmerged) / events;
  return { ...(Object.fromEntries(spent) as typeof before), merging };
}

/** The engine's cost of an INSERT into a table, per event. */
async function costOfInsert(ready: IngestLab, slice: number, table: string): Promise<number> {
  const { lab, dataset, plan } = ready;
  const { pid } = lab.engine.access;
  const before = cpuMicros(pid) ?? Number.NaN;
  await lab.generator.run(insertJob(ready, slice, table));
  const micros = (cpuMicros(pid) ?? Number.NaN) - before;
  await lab.engine.query(`TRUNCATE TABLE ${lab.bareDatabase}.\`${table}\``);
  return micros / (dataset.events / plan.slices);
}

const shown = (micros: number): string => micros.toFixed(2);

/**
 * Processor time of an event, by thread and by part of the table. The ratio compares an INSERT into the table without these parts
 * with one into the whole table, which depends little on other load.
 */
export async function benchIngestCost(
  lab: Lab,
  plan: { readonly events: number; readonly slices: number; readonly clients: number },
): Promise<CaseResult> {
  const ready = await prepareIngest(lab, plan);
  const parts = await partsOf(lab);
  const tables = await makeTables(lab, parts);
  const inserts = new Map(tables.map((name): [string, number[]] => [name, []]));
  const slices: Costs[] = [];
  for (let slice = 0; slice < plan.slices; slice += 1) {
    slices.push(await costOfSlice(ready, slice));
    for (const table of slice % 2 === 0 ? tables : tables.toReversed())
      inserts.get(table)?.push(await costOfInsert(ready, slice, table));
  }
  const ratios = (inserts.get(plain) ?? []).map(
    (least, at) => least / (inserts.get(whole)?.[at] ?? Number.NaN),
  );
  const of = (name: keyof Costs): number => median(slices.map((cost) => cost[name]));
  const insert = (table: string): number => median(inserts.get(table) ?? []);
  const total = slices.map((cost) => Object.values(cost).reduce((sum, one) => sum + one, 0));
  const threads = (['main', 'workers', 'files', 'runtime', 'engine', 'merging'] as const).map(
    (name) => `${name} ${shown(of(name))}`,
  );
  const without = parts.map(([name]) => `${name} ${shown(insert(whole) - insert(name))}`);
  return {
    id: 'ingest.cost',
    title: 'processor time of an event until it is in its tree and merged once',
    unit: 'events',
    service: {
      rate: summarize(total.map((micros) => 1e6 / micros)),
      serviceMicros: of('main') + of('workers') + of('files') + of('runtime'),
      engineMicros: of('engine') + of('merging'),
    },
    ratio: summarize(ratios),
    notes: [
      `${shown(median(total))} µs an event: ${threads.join(', ')}`,
      `${shown(insert(whole))} µs an INSERT into the table: ${without.join(', ')}; without all ${shown(insert(plain))}`,
    ],
  };
}
