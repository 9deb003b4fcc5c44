import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dataset, Span } from '../lab/dataset.ts';
import { writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { type Slice, sliceOf } from '../lab/side-by-side.ts';
import { type Generator, startGenerator } from '../load/generator-process.ts';
import type { Job } from '../load/job.ts';
import { mergeHistograms, quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';
import { type HostileBody, hostileBodies } from './hostile-bodies.ts';
import { postHead } from './ingest.ts';
import { type Reading, startReadable } from './readable.ts';

/** The neighbour's requests per second: few, so that only the attacker delays them. */
const neighbourRate = 200;
const neighbourClients = 16;
const attackerClients = 4;
const rounds = 3;
/** The neighbour's requests count once the attack has begun. */
const attackLeadMs = 250;
/** Seconds beside one large body: longer than its processing. */
const largeSliceSeconds = 12;

interface Scene {
  readonly lab: Lab;
  readonly dataset: Dataset;
  readonly neighbourKey: string;
  readonly neighbourHead: string;
  readonly attackerKey: string;
  readonly attacker: Generator;
  readonly seconds: number;
}

/** Measures the latency of one organization's single events while another sends expensive bodies without a pause. */
export async function benchHostile(
  lab: Lab,
  plan: { readonly seconds: number; readonly wanted: (id: string) => boolean },
): Promise<CaseResult[]> {
  const neighbour = await lab.organization('neighbour');
  const { key: attackerKey } = await lab.organization('attacker');
  const scene: Scene = {
    lab,
    dataset: await writeDataset(join(lab.directory, 'hostile.ndjson'), 2000, [neighbour.slug]),
    neighbourKey: neighbour.key,
    neighbourHead: postHead(lab, neighbour.key),
    attackerKey,
    attacker: startGenerator(),
    seconds: plan.seconds,
  };
  try {
    const results: CaseResult[] = [];
    await quiet(scene);
    if (plan.wanted('hostile.quiet')) results.push(await quietCase(scene));
    for (const body of hostileBodies) {
      if (plan.wanted(`hostile.${body.name}`)) results.push(await hostileCase(scene, body));
    }
    return results;
  } finally {
    scene.attacker.stop();
  }
}

/** A slice of the neighbour's single events, and how long some of them took to be readable. */
interface NeighbourSlice extends Slice {
  readonly reading: Reading;
}

/** The neighbour's single events for one slice. */
async function quiet(scene: Scene, sliceSeconds = scene.seconds / rounds): Promise<NeighbourSlice> {
  const { lab, dataset, neighbourHead, neighbourKey } = scene;
  const job: Job = {
    targets: [lab.service],
    heads: [neighbourHead],
    steps: dataset.singles.map((body) => [{ target: 0, head: 0, body }]),
    clients: neighbourClients,
    stop: { seconds: sliceSeconds },
    stepsPerSecond: neighbourRate,
    dataFile: dataset.path,
    status: 202,
  };
  const readable = startReadable(lab.service.url, neighbourKey);
  const result = await lab.generator.run(job);
  return { ...sliceOf(result), reading: await readable.stop() };
}

const p99 = ({ latency = [] }: Slice): number => quantilesMs(latency, [0.99])[0] ?? Number.NaN;

async function quietCase(scene: Scene): Promise<CaseResult> {
  const slices: NeighbourSlice[] = [];
  for (let round = 0; round < rounds; round += 1) slices.push(await quiet(scene));
  return {
    id: 'hostile.quiet',
    title: `single events of a neighbour, ${neighbourRate} a second, nobody else`,
    unit: 'events',
    service: sideOf(slices),
    notes: [`readable after ${readableWords(slices)}`],
  };
}

function readableWords(slices: readonly NeighbourSlice[]): string {
  const all = slices.flatMap(({ reading }) => reading.samplesMs);
  const seconds = (ms: number): string => (ms / 1000).toFixed(2);
  return `${seconds(median(all))} s (at most ${seconds(Math.max(...all))} s, ${all.length} times)`;
}

function sideOf(slices: readonly Slice[]): CaseResult['service'] {
  return {
    rate: summarize(slices.map(({ units, seconds }) => units / seconds)),
    latency: mergeHistograms(slices.map(({ latency = [] }) => latency)),
  };
}

/** Adds a body to the data file. */
function append(path: string, body: Buffer): Span {
  const offset = statSync(path).size;
  appendFileSync(path, body);
  return { offset, length: body.length };
}

function attackJob({ lab, dataset, attackerKey, seconds }: Scene, body: HostileBody, span: Span): Job {
  const encoding = body.encoding === 'identity' ? '' : `Content-Encoding: ${body.encoding}\r\n`;
  const head =
    `POST /api/v1/audit HTTP/1.1\r\nHost: ${lab.service.host}\r\nX-API-Key: ${attackerKey}\r\n` +
    `Content-Type: ${body.contentType}\r\n${encoding}`;
  return {
    targets: [lab.service],
    heads: [head],
    steps: [[{ target: 0, head: 0, body: span }]],
    clients: body.isLarge ? 1 : attackerClients,
    stop: body.isLarge ? { steps: 1 } : { seconds: seconds / rounds + attackLeadMs / 1000 },
    dataFile: dataset.path,
    status: body.status,
  };
}

async function hostileCase(scene: Scene, body: HostileBody): Promise<CaseResult> {
  const attack = attackJob(scene, body, append(scene.dataset.path, await body.make()));
  const alone: NeighbourSlice[] = [];
  const attacked: NeighbourSlice[] = [];
  let attacks = 0;
  let slowestMs = 0;
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await quiet(scene));
    const attacking = scene.attacker.run(attack);
    await sleep(attackLeadMs);
    attacked.push(await quiet(scene, body.isLarge && largeSliceSeconds));
    const { steps, latency } = await attacking;
    attacks += steps;
    slowestMs = Math.max(slowestMs, ...quantilesMs(latency, [1]));
    await settled(scene.lab);
  }
  const times = attacked.map((slice, round) => p99(slice) / p99(alone[round] as Slice));
  const [before, under] = [alone, attacked].map((slices) => median(slices.map(p99)));
  const slowestAck = Math.max(...attacked.map(({ latency = [] }) => quantilesMs(latency, [1])[0] ?? 0));
  const note =
    `p99 of the neighbour ${under?.toFixed(1)} ms, quiet ${before?.toFixed(1)} ms: ` +
    `${median(times).toFixed(1)} times; ${attacks} attacks, the slowest ${(slowestMs / 1000).toFixed(2)} s`;
  const waits =
    `the slowest acknowledgement of the neighbour ${slowestAck.toFixed(0)} ms; readable after ` +
    `${readableWords(attacked)}, quiet ${readableWords(alone)}`;
  return {
    id: `hostile.${body.name}`,
    title: `single events of a neighbour beside ${body.title}`,
    unit: 'events',
    service: sideOf(attacked),
    reference: { name: 'the same without', side: sideOf(alone) },
    ratio: summarize(times.map((one) => 1 / one)),
    notes: [note, waits],
  };
}

/** Work that an attack left behind must not delay the next slice. */
async function settled(lab: Lab): Promise<void> {
  const deadline = performance.now() + settleMsMax;
  for (;;) {
    const metrics = await (await fetch(`${lab.service.url}/metrics`)).text();
    if (/^auditlog_wal_segments 0$/m.test(metrics)) break;
    if (performance.now() > deadline) throw new Error('the log was not stored in time');
    await sleep(100);
  }
  await lab.engine.mergesDone();
}

const settleMsMax = 120_000;
