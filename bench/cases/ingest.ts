import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { batchEvents, type Dataset, type Span, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { type Slice, sideBySide, sliceOf } from '../lab/side-by-side.ts';
import { type Job, type JobResult } from '../load/job.ts';
import type { CaseResult } from '../stats/result.ts';
import { quantilesMs } from '../stats/histogram.ts';
import { median } from '../stats/summary.ts';

/** Rows of one INSERT of the bare engine: about a segment of the service at full speed. */
const chunkRows = 40_000;
/** Concurrent INSERTs of the bare engine, as many as the service's. */
const insertsAtOnce = 2;

/** Settings of the service's INSERTs. */
const insertSettings = {
  async_insert: 0,
  wait_end_of_query: 1,
  min_insert_block_size_rows: 1_048_576,
  min_insert_block_size_bytes: 0,
  max_insert_threads: 1,
};

export interface IngestPlan {
  readonly events: number;
  readonly slices: number;
  readonly clients: number;
}

/** Events for both sides: as sent by producers, and as the service's rows. */
export interface IngestLab {
  readonly lab: Lab;
  readonly plan: IngestPlan;
  readonly dataset: Dataset;
  readonly heads: readonly string[];
  /** For each slice, the chunks of its rows in `nativePath`. */
  readonly chunks: readonly (readonly Span[])[];
  readonly nativePath: string;
}

/** Head of a request that writes NDJSON with a key. */
export function postHead(lab: Lab, key: string): string {
  const { host, port } = lab.service;
  return (
    `POST /api/v1/audit HTTP/1.1\r\nHost: ${host}:${port}\r\nX-API-Key: ${key}\r\n` +
    'Content-Type: application/x-ndjson\r\n'
  );
}

/** The batches of a slice, each with its organization's key. */
function sliceOfBatches({ dataset, plan, heads }: Omit<IngestLab, 'chunks' | 'nativePath'>, slice: number) {
  const perSlice = dataset.batches.length / plan.slices;
  const from = Math.round(slice * perSlice);
  return dataset.batches
    .slice(from, Math.round((slice + 1) * perSlice))
    .map((body, index) => [{ target: 0, head: (from + index) % heads.length, body }]);
}

export type Sender = Pick<IngestLab, 'lab' | 'plan' | 'dataset' | 'heads'>;

/** The job that sends the batches of a slice. */
export function batchJob(sender: Sender, slice: number): Job {
  const steps = sliceOfBatches(sender, slice);
  const { lab, plan, heads, dataset } = sender;
  return {
    targets: [lab.service],
    heads,
    steps,
    clients: plan.clients,
    stop: { steps: steps.length },
    dataFile: dataset.path,
    status: 202,
  };
}

/** Sends a slice's batches and waits until all are readable. */
async function sendSlice(sender: Sender, slice: number): Promise<{ result: JobResult; visibleMs: number }> {
  const { lab } = sender;
  const before = await lab.events();
  const result = await lab.generator.run(batchJob(sender, slice));
  const visibleMs = await lab.visible(before + result.steps * batchEvents);
  return { result, visibleMs };
}

/** Four organizations with source events. */
export async function prepareSender(lab: Lab, plan: IngestPlan): Promise<Sender & { readKey: string }> {
  const organizations = [];
  for (const slug of ['acme', 'globex', 'initech', 'umbrella'])
    organizations.push(await lab.organization(slug));
  const slugs = organizations.map(({ slug }) => slug);
  const dataset = await writeDataset(join(lab.directory, 'events.ndjson'), plan.events, slugs);
  const heads = organizations.map(({ key }) => postHead(lab, key));
  return { lab, plan, dataset, heads, readKey: organizations[0]?.key ?? '' };
}

/**
 * Makes the events, sends them once through the service (its warm-up), and reads the resulting rows from the engine in Native
 * format, in order of arrival. So the bare engine gets exactly the service's rows.
 */
export async function prepareIngest(lab: Lab, plan: IngestPlan): Promise<IngestLab> {
  const { dataset, heads } = await prepareSender(lab, plan);
  const table = `${lab.database}.events`;
  const ddl = await lab.engine.query(`SHOW CREATE TABLE ${table} FORMAT TSVRaw`);
  await lab.engine.query(ddl.replace(table, `${lab.bareDatabase}.events`));
  const nativePath = join(lab.directory, 'rows.native');
  const chunks: Span[][] = [];
  let offset = 0;
  for (let slice = 0; slice < plan.slices; slice += 1) {
    await lab.engine.query(`TRUNCATE TABLE ${table}`);
    await sendSlice({ lab, plan, dataset, heads }, slice);
    const rows = await lab.events();
    const spans: Span[] = [];
    for (let from = 0; from < rows; from += chunkRows) {
      const limit = Math.min(chunkRows, rows - from);
      const select = `SELECT * FROM ${table} ORDER BY seq LIMIT ${limit} OFFSET ${from} FORMAT Native`;
      const length = await lab.engine.save(select, nativePath);
      spans.push({ offset, length });
      offset += length;
    }
    chunks.push(spans);
  }
  await lab.engine.query(`TRUNCATE TABLE ${table}`);
  await lab.engine.mergesDone();
  return { lab, plan, dataset, heads, chunks, nativePath };
}

/** Sends the same rows as Native INSERTs directly to the bare engine. */
export function insertJob({ lab, chunks, nativePath }: IngestLab, slice: number, table = 'events'): Job {
  const { hostname, port } = new URL(lab.engine.access.url);
  const head = lab.engine.head(`INSERT INTO ${lab.bareDatabase}.\`${table}\` FORMAT Native`, insertSettings);
  const steps = (chunks[slice] ?? []).map((body) => [{ target: 0, head: 0, body }]);
  return {
    targets: [{ host: hostname, port: Number(port) }],
    heads: [head],
    steps,
    clients: insertsAtOnce,
    stop: { steps: steps.length },
    dataFile: nativePath,
    status: 200,
  };
}

async function bytesPerEvent(lab: Lab, database: string): Promise<number> {
  const sql =
    'SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE active AND ' +
    `database = '${database}' AND table = 'events'`;
  return lab.engine.number(sql);
}

/** Compares batches, until readable, with the bare engine and the same rows. */
export async function benchIngest(ready: IngestLab): Promise<CaseResult> {
  const { lab, plan, dataset } = ready;
  const perSlice = dataset.events / plan.slices;
  const acknowledged: number[] = [];
  let lastEndedMs = 0;
  const merged: { service: number[]; bare: number[] } = { service: [], bare: [] };
  let side: keyof typeof merged = 'service';

  async function service(slice: number): Promise<Slice> {
    side = 'service';
    const { result, visibleMs } = await sendSlice(ready, slice);
    acknowledged.push(perSlice / ((result.endedMs - result.startedMs) / 1000));
    lastEndedMs = result.startedMs;
    const { latency, cpuMicros: generatorCpuMicros } = result;
    return { units: perSlice, seconds: (visibleMs - result.startedMs) / 1000, latency, generatorCpuMicros };
  }

  async function bare(slice: number): Promise<Slice> {
    side = 'bare';
    const result = await lab.generator.run(insertJob(ready, slice));
    lastEndedMs = result.startedMs;
    return { ...sliceOf(result), units: perSlice };
  }

  const measured = await sideBySide(lab, {
    id: 'ingest.batches',
    title: `batches of ${batchEvents} events, ${plan.clients} clients, until readable`,
    unit: 'events',
    rounds: plan.slices,
    service,
    reference: { name: 'the same rows as Native INSERTs', run: bare },
    settle: async () => {
      merged[side].push(perSlice / (((await lab.engine.mergesDone()) - lastEndedMs) / 1000));
    },
  });
  const [p50, p99, p999] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99, 0.999]);
  const mergedRatio = median(merged.service.map((rate, index) => rate / (merged.bare[index] ?? Number.NaN)));
  return {
    ...measured,
    notes: [
      `acknowledged ${Math.round(median(acknowledged))} events/s, p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, p99.9 ${p999?.toFixed(1)} ms`,
      `until merges are done: ${Math.round(median(merged.service))} events/s, ${mergedRatio.toFixed(2)} of the bare engine`,
      `${Math.round(dataset.bytes / dataset.events)} bytes an event as sent`,
    ],
    bytes: {
      ...measured.bytes,
      'an event on disk': await bytesPerEvent(lab, lab.database),
      'an event on disk, bare': await bytesPerEvent(lab, lab.bareDatabase),
    },
  };
}

/** Measures one durable event per request; compares with the service of another commit, if given. */
export async function benchSingles(ready: Sender, seconds: number, other?: Lab): Promise<CaseResult> {
  const { lab, plan, dataset, heads } = ready;
  const rounds = 6;
  const clients = plan.clients * 8;
  const steps = dataset.singles.map((body) => [{ target: 0, head: 0, body }]);
  const send = async (to: Lab, by: readonly string[], sliceSeconds: number): Promise<Slice> =>
    sliceOf(
      await lab.generator.run({
        targets: [to.service],
        heads: by,
        steps,
        clients,
        stop: { seconds: sliceSeconds },
        dataFile: dataset.path,
        status: 202,
      }),
    );
  const otherHeads = other && [postHead(other, (await other.organization('acme')).key)];
  // Warm-up: compiles the code.
  if (other && otherHeads) {
    await send(lab, heads, seconds);
    await send(other, otherHeads, seconds);
  }
  const measured = await sideBySide(lab, {
    id: 'ingest.single',
    title: `single events, ${clients} clients`,
    unit: 'events',
    rounds,
    service: () => send(lab, heads, seconds / rounds),
    ...(other &&
      otherHeads && {
        reference: {
          name: 'the service of another commit',
          run: () => send(other, otherHeads, seconds / rounds),
          pid: other.service.pid,
          enginePid: other.engine.access.pid,
        },
      }),
  });
  const [p50, p99] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99]);
  return { ...measured, notes: [`p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms`] };
}

/** Removes what was prepared. */
export function dropIngest({ dataset, nativePath }: IngestLab): void {
  rmSync(dataset.path, { force: true });
  rmSync(nativePath, { force: true });
}
