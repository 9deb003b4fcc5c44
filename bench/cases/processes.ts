import type { Lab } from '../lab/lab.ts';
import { prepareReads } from '../lab/read-data.ts';
import type { CaseResult } from '../stats/result.ts';
import { benchIngest, dropIngest, prepareIngest } from './ingest.ts';
import { readCases } from './read-cases.ts';
import { benchRead } from './reads.ts';

export interface ProcessesPlan {
  readonly processes: number;
  readonly events: number;
  readonly rows: number;
  readonly clients: number;
  readonly seconds: number;
}

const slices = 3;
const rounds = 4;

/** Batches by all front ends of a service together, beside the bare engine that is fed the same rows. */
export async function benchIngestOf(lab: Lab, plan: ProcessesPlan): Promise<CaseResult> {
  const { events, clients } = plan;
  const ready = await prepareIngest(lab, { events, slices, clients });
  const result = await benchIngest(ready);
  dropIngest(ready);
  return named(result, 'ingest', plan);
}

/** First pages of 1000 by all front ends together, beside the best SQL. */
export async function benchPagesOf(lab: Lab, plan: ProcessesPlan): Promise<CaseResult> {
  const data = await prepareReads(lab, plan.rows);
  await data.growTo(plan.rows);
  const page = (await readCases(data)).find(({ id }) => id === 'read.page');
  if (page === undefined) throw new Error('there is no page to read');
  return named(await benchRead(lab, data, page, { ...plan, rounds }), 'pages', plan);
}

/** With several front ends the process that was started is their parent, whose figures say nothing of the work. */
function named(result: CaseResult, what: string, { processes }: ProcessesPlan): CaseResult {
  const id = `processes.${what}-${processes}`;
  if (processes === 1) return { ...result, id, title: `1 front end: ${result.title}` };
  const { 'service peak': _parent, ...bytes } = result.bytes ?? {};
  const service = { ...result.service, serviceMicros: undefined };
  return { ...result, id, title: `${processes} front ends: ${result.title}`, service, bytes };
}
