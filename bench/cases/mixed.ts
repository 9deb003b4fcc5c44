import { batchEvents } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { startGenerator } from '../load/generator-process.ts';
import type { Job } from '../load/job.ts';
import { mergeHistograms, quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { sideBySide, sliceOf } from '../lab/side-by-side.ts';
import type { Dataset } from '../lab/dataset.ts';

export interface MixedPlan {
  readonly seconds: number;
  readonly rounds: number;
  readonly clients: number;
  /** Events to send per second: half of ingest's rate alone. */
  readonly eventsPerSecond: number;
}

/** Measures pages alone and beside ingest, in turns. */
export async function benchMixed(
  lab: Lab,
  data: ReadData,
  { dataset, writeHead }: { dataset: Dataset; writeHead: string },
  plan: MixedPlan,
): Promise<CaseResult> {
  const { host, port } = lab.service;
  const readHead = `GET /api/v1/audit?limit=1000 HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${data.key}\r\n`;
  const seconds = plan.seconds / plan.rounds;
  const pages: Job = {
    targets: [{ host, port }],
    heads: [readHead],
    steps: [[{ target: 0, head: 0 }]],
    clients: plan.clients,
    stop: { seconds },
    status: 200,
  };
  const writes: Job = {
    ...pages,
    heads: [writeHead],
    steps: dataset.batches.map((body) => [{ target: 0, head: 0, body }]),
    stop: { seconds: seconds + 0.5 },
    stepsPerSecond: plan.eventsPerSecond / batchEvents,
    dataFile: dataset.path,
    status: 202,
  };
  const writer = startGenerator();
  let written = 0;
  try {
    await lab.generator.run({ ...pages, stop: { steps: plan.clients } });
    const measured = await sideBySide(lab, {
      id: 'mixed.page',
      title: `first page while ${plan.eventsPerSecond} events/s come in, ${plan.clients} clients`,
      unit: 'pages',
      rounds: plan.rounds,
      service: async () => {
        const writing = writer.run(writes);
        // Pages begin once the stream of events flows.
        await new Promise((resolve) => setTimeout(resolve, 250));
        const slice = sliceOf(await lab.generator.run(pages));
        const { steps, startedMs, endedMs } = await writing;
        written = (steps * batchEvents) / ((endedMs - startedMs) / 1000);
        return slice;
      },
      reference: { name: 'the same without', run: async () => sliceOf(await lab.generator.run(pages)) },
      settle: () => lab.engine.mergesDone(),
    });
    const [p50, p99] = quantilesMs(mergeHistograms([measured.service.latency ?? []]), [0.5, 0.99]);
    const [a50, a99] = quantilesMs(measured.reference?.side.latency ?? [], [0.5, 0.99]);
    const note = `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; alone ${a50?.toFixed(1)} and ${a99?.toFixed(1)} ms`;
    return { ...measured, notes: [note, `${Math.round(written)} events/s were taken meanwhile`] };
  } finally {
    writer.stop();
  }
}
