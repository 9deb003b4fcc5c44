import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { benchIngest, prepareIngest } from './cases/ingest.ts';
import { benchIngestCost, costLab } from './cases/ingest-cost.ts';
import { readCases } from './cases/read-cases.ts';
import { benchPassThrough, benchRead } from './cases/reads.ts';
import { describeCommit, describeMachine } from './lab/machine.ts';
import { type Lab, type LabOptions, openLab } from './lab/lab.ts';
import { prepareReads } from './lab/read-data.ts';
import { measureInProcess, microIds } from './micro/run.ts';
import { isWanted, type Options } from './options.ts';
import type { CaseResult, Side } from './stats/result.ts';
import { median } from './stats/summary.ts';

/**
 * The guard: a short run that compares ratios with `bench/baseline.json`. It has no absolute times, so the file applies to every
 * machine: code is compared with plain work of the platform on the same data, the service with the bare engine.
 */

/** Allowed drop of a ratio. */
const margins = {
  /** Repeats to 3 % from process to process, seldom 6 %. */
  micro: 0.1,
  /** Processor time of a page, by that of a plain pass-through; of an INSERT, by that without projections and indexes. */
  cpu: 0.2,
  /** Ratio of throughputs: affected by two more processes and other load. */
  load: 0.3,
} as const;

interface BaselineEntry {
  readonly ratio: number;
  readonly margin: number;
}

interface Baseline {
  readonly commit: string;
  readonly machine: string;
  readonly ratios: Readonly<Record<string, BaselineEntry>>;
}

/** In the source folder, also for the compiled bench. */
const baselinePath = fileURLToPath(new URL('../../bench/baseline.json', import.meta.url));
/** A ratio below its margin is measured again, and all slices count, so that a disturbance passes. */
const triesMax = 3;
const baselineRuns = 3;
const rows = 300_000;
const ingestEvents = 240_000;
const costEvents = 120_000;
/** Reads beside the best SQL by hand: the filters that could lose most, and their totals. */
const guardedReads = new Set(
  [
    'page',
    'deep',
    'actor-frequent',
    'actor-deep',
    'actor-total',
    'fileName-frequent',
    'fileName-total',
    'actor-fileName',
  ].map((name) => `read.${name}`),
);
const plan = { clients: 8, seconds: 7, rounds: 14 };
const filteredPlan = { clients: 8, seconds: 2, rounds: 6 };
const microPlan = { rounds: 11, sliceMs: 40 };

/** The fastest slice, as other processes only slow a slice down, and slower code affects all. */
function best(sides: readonly (Side | undefined)[]): number {
  return Math.max(...sides.flatMap((side) => side?.rate.samples ?? []));
}

/** Ratios of a case over all measurements so far (higher is better), with their margin. */
function ratiosOf(seen: readonly CaseResult[]): Map<string, BaselineEntry> {
  const ratios = new Map<string, BaselineEntry>();
  const id = seen[0]?.id ?? '';
  if (id.startsWith('micro.')) {
    const plain = best(seen.map(({ reference }) => reference?.side));
    ratios.set(id, { ratio: best(seen.map(({ service }) => service)) / plain, margin: margins.micro });
    return ratios;
  }
  const ratio = median(seen.flatMap(({ ratio }) => ratio?.samples ?? []));
  ratios.set(id, { ratio, margin: id === 'ingest.cost' ? margins.cpu : margins.load });
  const cpu = seen.map(({ service, reference }) => {
    return (reference?.side.serviceMicros ?? Number.NaN) / (service.serviceMicros ?? Number.NaN);
  });
  if (id === 'read.pass-through') ratios.set(`${id}.cpu`, { ratio: median(cpu), margin: margins.cpu });
  return ratios;
}

interface Guarded {
  readonly id: string;
  readonly measure: () => Promise<CaseResult>;
}

/** Calls `each` with every wanted case while its environment runs. */
async function withCases(options: Options, each: (guarded: Guarded) => Promise<void>): Promise<void> {
  const wanted = (id: string): boolean => isWanted(options.only, id);
  for (const id of microIds)
    if (wanted(id)) await each({ id, measure: () => measureInProcess(id, microPlan) });
  if (wanted('read')) await withLab({ url: options.url }, (lab) => readGuards(lab, wanted, each));
  const ingestPlan = { events: ingestEvents, slices: 3, clients: 8 };
  if (wanted('ingest.batches')) {
    await withLab({ url: options.url }, async (lab) => {
      const ready = await prepareIngest(lab, ingestPlan);
      await each({ id: 'ingest.batches', measure: () => benchIngest(ready) });
    });
  }
  if (!wanted('ingest.cost')) return;
  const costPlan = { ...ingestPlan, events: costEvents };
  const measure = () => withLab({ url: undefined, ...costLab }, (lab) => benchIngestCost(lab, costPlan));
  await each({ id: 'ingest.cost', measure });
}

async function withLab<T>(options: LabOptions, run: (lab: Lab) => Promise<T>): Promise<T> {
  const lab = await openLab(options);
  try {
    return await run(lab);
  } finally {
    await lab.close();
  }
}

async function readGuards(
  lab: Lab,
  wanted: (id: string) => boolean,
  each: (guarded: Guarded) => Promise<void>,
): Promise<void> {
  const data = await prepareReads(lab, rows);
  await data.growTo(rows);
  const cases = (await readCases(data)).filter(({ id }) => guardedReads.has(id));
  for (const read of cases) {
    if (!wanted(read.id)) continue;
    // More slices for the first page, the most frequent read.
    const one = read.id === 'read.page' ? plan : filteredPlan;
    await each({ id: read.id, measure: () => benchRead(lab, data, read, one) });
  }
  if (wanted('read.pass-through'))
    await each({ id: 'read.pass-through', measure: () => benchPassThrough(lab, data, plan) });
}

function readBaseline(): Baseline {
  if (!existsSync(baselinePath))
    throw new Error(`there is no ${baselinePath}; make one with --write-baseline`);
  return JSON.parse(readFileSync(baselinePath, 'utf8')) as Baseline;
}

/** Measures everything three times and writes the median of each ratio. */
async function writeBaseline(options: Options): Promise<void> {
  // With --only, the other ratios stay as they are.
  const ratios: Record<string, BaselineEntry> = options.only.length === 0 ? {} : { ...readBaseline().ratios };
  await withCases(options, async ({ measure }) => {
    const seen: CaseResult[] = [];
    for (let run = 0; run < baselineRuns; run += 1) seen.push(await measure());
    const single = seen.map((one) => ratiosOf([one]));
    for (const [id, { margin }] of ratiosOf(seen)) {
      // The median, as one lucky process must not become the baseline.
      const values = single.map((one) => one.get(id)?.ratio ?? Number.NaN);
      const ratio = median(values);
      ratios[id] = { ratio: Number(ratio.toPrecision(4)), margin };
      const shown = values.map((value) => value.toFixed(3)).join(', ');
      process.stderr.write(`${id.padEnd(24)} ${ratio.toFixed(3).padStart(8)}  from ${shown}\n`);
    }
  });
  const machine = describeMachine();
  const baseline: Baseline = {
    commit: describeCommit(),
    machine: `${machine.cores} cores, ${machine.cpu}, Node ${machine.node}`,
    ratios,
  };
  writeFileSync(baselinePath, `${JSON.stringify(baseline, undefined, 2)}\n`);
}

/** The lowest of a case's ratios, divided by its minimum. */
function judge(
  ratios: Map<string, BaselineEntry>,
  baseline: Baseline,
): { lines: string[]; failed: string[] } {
  const lines: string[] = [];
  const failed: string[] = [];
  for (const [id, { ratio }] of ratios) {
    const entry = baseline.ratios[id];
    if (entry === undefined) continue;
    const change = ratio / entry.ratio - 1;
    const bad = change < -entry.margin;
    if (bad) failed.push(id);
    const percent = `${change >= 0 ? '+' : ''}${(change * 100).toFixed(1)} %`;
    lines.push(
      `${bad ? 'FELL' : 'ok  '} ${id.padEnd(24)} ${ratio.toFixed(3).padStart(8)}  baseline ${entry.ratio.toFixed(3).padStart(8)}  ${percent.padStart(8)}  allowed -${(entry.margin * 100).toFixed(0)} %`,
    );
  }
  return { lines, failed };
}

/** Runs the guard; true if no ratio is below its margin and every ratio of the baseline was measured. */
export async function runGuard(options: Options): Promise<boolean> {
  if (options.writeBaseline) {
    await writeBaseline(options);
    return true;
  }
  const baseline = readBaseline();
  const unseen = new Set(Object.keys(baseline.ratios).filter((id) => isWanted(options.only, id)));
  const failures: string[] = [];
  await withCases(options, async ({ measure }) => {
    const seen: CaseResult[] = [];
    let failing: string[] = [];
    for (let tries = 0; tries < triesMax; tries += 1) {
      seen.push(await measure());
      const ratios = ratiosOf(seen);
      for (const id of ratios.keys()) unseen.delete(id);
      const { lines, failed } = judge(ratios, baseline);
      process.stdout.write(`${lines.join('\n')}\n`);
      failing = failed;
      if (failing.length === 0) break;
    }
    failures.push(...failing);
  });
  for (const id of unseen) process.stdout.write(`FELL ${id.padEnd(24)} was not measured\n`);
  failures.push(...unseen);
  process.stdout.write(
    failures.length === 0
      ? 'No ratio has fallen below its margin.\n'
      : `Slower than the baseline allows after ${triesMax} measurements: ${failures.join(', ')}\n`,
  );
  return failures.length === 0;
}
