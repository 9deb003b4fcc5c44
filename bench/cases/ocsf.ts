import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { sideBySide, sliceOf } from '../lab/side-by-side.ts';
import type { Job } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { type ReadPlan, serviceJob } from './reads.ts';

const warmUpSeconds = 1.5;

/** Compares the first page in OCSF with the default schema, to show the cost of the mapping. */
export async function benchOcsfPage(lab: Lab, data: ReadData, plan: ReadPlan): Promise<CaseResult> {
  const { clients, seconds, rounds } = plan;
  const jobOf = (query: string): Job => serviceJob(lab, data.key, query, clients, seconds / rounds);
  const [mapped, usual] = [jobOf('limit=1000&schema=ocsf'), jobOf('limit=1000')];
  for (const job of [mapped, usual]) await lab.generator.run({ ...job, stop: { seconds: warmUpSeconds } });
  const measured = await sideBySide(lab, {
    id: 'read.page-ocsf',
    title: `first page of 1000 with schema=ocsf, ${clients} clients`,
    unit: 'pages',
    rounds,
    service: async () => sliceOf(await lab.generator.run(mapped)),
    reference: {
      name: 'the same page in the default schema',
      run: async () => sliceOf(await lab.generator.run(usual)),
    },
  });
  const [p50] = quantilesMs(measured.service.latency ?? [], [0.5]);
  const [usual50] = quantilesMs(measured.reference?.side.latency ?? [], [0.5]);
  return {
    ...measured,
    notes: [`p50 ${p50?.toFixed(1)} ms, of the default schema ${usual50?.toFixed(1)} ms`],
  };
}

/** Compares an export in OCSF with the default schema. */
export async function benchOcsfExport(lab: Lab, data: ReadData, rounds: number): Promise<CaseResult> {
  const rows = data.rows();
  const { host, port } = lab.service;
  const jobOf = (query: string): Job => ({
    targets: [{ host, port }],
    heads: [`GET /api/v1/audit/export?${query} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${data.key}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients: 1,
    stop: { steps: 1 },
    status: 200,
  });
  return sideBySide(lab, {
    id: 'export.ocsf',
    title: `export of ${rows} events with schema=ocsf`,
    unit: 'events',
    rounds,
    service: async () => sliceOf(await lab.generator.run(jobOf('schema=ocsf')), rows),
    reference: {
      name: 'the same export in the default schema',
      run: async () => sliceOf(await lab.generator.run(jobOf('format=ndjson')), rows),
    },
  });
}
