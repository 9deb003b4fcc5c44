import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { comparisonTable, regressions } from './compare.ts';
import { runGuard } from './guard.ts';
import { UserError } from './lab/user-error.ts';
import { describeCommit, describeMachine } from './lab/machine.ts';
import { runLoadCases, type Sink } from './load-cases.ts';
import { measureInProcesses, microIds } from './micro/run.ts';
import { isWanted, type Options, readOptions, usage, wantsHelp } from './options.ts';
import { reportPage } from './report/page.ts';
import {
  type KeptRun,
  keptRun,
  notesList,
  progressLine,
  readmeTable,
  resultTable,
  withRun,
} from './report/table.ts';
import type { CaseResult, RunResult, Series } from './stats/result.ts';

/** The bench's entry: `npm run bench -- …`. */

async function measure(options: Options): Promise<RunResult> {
  const cases: CaseResult[] = [];
  const series: Series[] = [];
  const skipped: string[] = [];
  const startedAt = new Date().toISOString();
  const sink: Sink = {
    wanted: (id) => isWanted(options.only, id),
    add(results) {
      cases.push(...results);
      for (const result of results) process.stderr.write(progressLine(result));
    },
    addSeries: (more) => series.push(...more),
    skip(why) {
      skipped.push(why);
      process.stderr.write(`left out: ${why}\n`);
    },
  };
  for (const id of microIds)
    if (sink.wanted(id)) sink.add([await measureInProcesses(id, { rounds: 5, sliceMs: 60 }, 3)]);
  await runLoadCases(options, sink);
  return {
    format: 1,
    startedAt,
    commit: describeCommit(),
    machine: describeMachine(),
    cases,
    series,
    skipped,
  };
}

/** Reads the figures of an earlier run, before the measurements, so that a wrong path fails early. */
function readRun(path: string): RunResult {
  const run = JSON.parse(readFileSync(path, 'utf8')) as RunResult;
  if (run.format !== 1) throw new Error(`${path} does not hold figures of this bench`);
  return run;
}

const inBench = (name: string): string => fileURLToPath(new URL(`../../bench/${name}`, import.meta.url));

/** Adds a run to results.json, and writes a table for each run between the marks of the README. */
function writeResults(run: RunResult): void {
  const results = inBench('results.json');
  const runs = withRun(JSON.parse(readFileSync(results, 'utf8')) as KeptRun[], keptRun(run));
  writeFileSync(results, `${JSON.stringify(runs, undefined, 2)}\n`);
  const text = readFileSync(inBench('README.md'), 'utf8');
  const [begin, end] = ['<!-- results -->', '<!-- /results -->'];
  const head = text.slice(0, text.indexOf(begin) + begin.length);
  const tables = runs.map(readmeTable).join('\n');
  writeFileSync(inBench('README.md'), `${head}\n${tables}${text.slice(text.indexOf(end))}`);
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (wantsHelp(args)) {
    process.stdout.write(usage);
    return 0;
  }
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
  if (options.guard || options.writeBaseline) return (await runGuard(options)) ? 0 : 1;
  const base = options.compare === undefined ? undefined : readRun(options.compare);
  const run = options.from === undefined ? await measure(options) : readRun(options.from);
  process.stdout.write(`${resultTable(keptRun(run))}\n${notesList(run)}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(run)}\n`);
  if (options.report !== undefined) writeFileSync(options.report, reportPage(run));
  if (options.readme) writeResults(run);
  if (base === undefined) return 0;
  process.stdout.write(comparisonTable(base, run));
  const slower = regressions(base, run);
  if (slower.length > 0)
    process.stdout.write(`slower than before: ${slower.map(({ id }) => id).join(', ')}\n`);
  return slower.length > 0 ? 1 : 0;
}

process.exitCode = await main().catch((error: unknown) => {
  if (!(error instanceof UserError)) throw error;
  process.stderr.write(`${error.message}\n`);
  return 1;
});
