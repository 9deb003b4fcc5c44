import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { CaseResult, Side } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import type { MicroPlan } from './measure.ts';

export const microIds: readonly string[] = [
  'micro.zstd',
  'micro.map',
  'micro.validate',
  'micro.render',
  'micro.timestamp',
  'micro.redact',
  'micro.native',
  'micro.frame',
  'micro.log',
  'micro.filter',
  'micro.access-log',
  'micro.ingest-answer',
  'micro.rate-limit',
  'micro.key-check',
  'micro.splice',
  'micro.reader',
];

const run = promisify(execFile);
const child = fileURLToPath(new URL('./child.js', import.meta.url));

/**
 * Measures in a separate process: compilation and memory layout are fixed once per process, and differ by a tenth between two. Also,
 * no case prepares the compiler for the next.
 */
export async function measureInProcess(id: string, plan: MicroPlan): Promise<CaseResult> {
  const { stdout } = await run(process.execPath, [child, id, JSON.stringify(plan)]);
  return JSON.parse(stdout) as CaseResult;
}

function together(sides: readonly (Side | undefined)[]): Side {
  return { rate: summarize(sides.flatMap((side) => side?.rate.samples ?? [])) };
}

/** Combines the slices of several processes; the interval includes the difference between processes. */
export async function measureInProcesses(
  id: string,
  plan: MicroPlan,
  processes: number,
): Promise<CaseResult> {
  const all: CaseResult[] = [];
  for (let index = 0; index < processes; index += 1) all.push(await measureInProcess(id, plan));
  const [first] = all;
  if (first?.reference === undefined) throw new Error('a micro bench has no reference');
  const service = together(all.map((one) => one.service));
  const { name } = first.reference;
  return {
    ...first,
    service,
    reference: { name, side: together(all.map(({ reference }) => reference?.side)) },
    ratio: summarize(all.flatMap(({ ratio }) => ratio?.samples ?? [])),
    notes: [`${(1e6 / service.rate.median).toFixed(3)} µs each; reference: ${name}`],
  };
}
