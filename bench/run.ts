import { writeFileSync } from 'node:fs';
import { describeCommit, describeMachine } from './lab/machine.ts';
import { runLoadCases, type Sink } from './load-cases.ts';
import { runMicroCases } from './micro/run.ts';
import { type Options, readOptions, usage } from './options.ts';
import { progressLine, resultTable } from './report/table.ts';
import type { CaseResult, RunResult, Series } from './stats/result.ts';

/** The bench's entry: `npm run bench -- …`. */

async function measure(options: Options): Promise<RunResult> {
  const cases: CaseResult[] = [];
  const series: Series[] = [];
  const skipped: string[] = [];
  const startedAt = new Date().toISOString();
  const sink: Sink = {
    // A group is wanted when one of its cases is, and a case when its group is.
    wanted: (id) =>
      options.only.length === 0 || options.only.some((name) => id.startsWith(name) || name.startsWith(`${id}.`)),
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
  if (sink.wanted('micro')) await runMicroCases({ rounds: 15, sliceMs: 60 }, sink);
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

async function main(): Promise<number> {
  let options: Options;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
  const run = await measure(options);
  process.stdout.write(resultTable(run));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(run)}\n`);
  return 0;
}

process.exitCode = await main();
