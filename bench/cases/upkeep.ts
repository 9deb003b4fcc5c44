import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { batchEvents, type Dataset, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { coresOf, drift, memorySeries, type Sample, sampled } from '../lab/sampling.ts';
import { startGenerator } from '../load/generator-process.ts';
import type { Job, JobResult } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult, Series } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import { batchJob, postHead, type Sender } from './ingest.ts';

const sampleMs = 1000;
const paceShare = 0.5;
/** Covers several waves of merges. */
const aloneSecondsMax = 300;
/** Low enough that pages do not compete with each other. */
const pagesPerSecond = 8;
const dayMicros = 86_400_000_000;
const agedDays = 60;
const agedEvents = 100_000;
/** Old events arrive at the normal pace, as the cost of removing them is measured. One change of retention a minute. */
const agedPerSecond = 2000;
/** Bounds the bytes of mutations, which grow with the month: ten minutes at this pace are gigabytes. */
const removedMsMax = 1_800_000;
const heardMsMax = 30_000;
const signedMsMax = 120_000;

type ReadingSender = Sender & { readonly readKey: string };

interface Stretch {
  readonly writes: JobResult;
  readonly pages: JobResult;
  readonly samples: readonly Sample[];
}

/** Number and longest duration (seconds) of each task. */
type Doings = Map<string, { times: number; longest: number }>;

/** First pages of one organization at a fixed pace. */
function pagesJob({ service }: Lab, key: string, seconds: number): Job {
  const head = `GET /api/v1/audit?limit=1000 HTTP/1.1\r\nHost: ${service.host}\r\nX-API-Key: ${key}\r\n`;
  return {
    targets: [service],
    heads: [head],
    steps: [[{ target: 0, head: 0 }]],
    clients: 4,
    stop: { seconds },
    stepsPerSecond: pagesPerSecond,
    status: 200,
  };
}

/** An organization whose events are older than a month, to be removed. */
interface Aged {
  readonly dataset: Dataset;
  readonly head: string;
  readonly key: string;
  readonly slug: string;
  readonly id: string;
}

/** Runs several sequences of upkeep tasks in parallel until `stop`. */
class Upkeep {
  readonly doings: Doings = new Map();
  readonly #lab: Lab;
  readonly #aged: Aged;
  readonly #over = new AbortController();
  readonly #lines: Promise<unknown>;

  constructor(lab: Lab, aged: Aged) {
    this.#lab = lab;
    this.#aged = aged;
    const lines = [this.#again(() => this.#backUp()), this.#again(() => this.#retain()), this.#verifyAgain()];
    this.#lines = Promise.all(lines);
    // `stop` throws its error.
    this.#lines.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#lines;
  }

  async #again(work: () => Promise<void>): Promise<void> {
    while (!this.#over.signal.aborted) await work();
  }

  async #timed<T>(name: string, work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const result = await work();
    const { times = 0, longest = 0 } = this.doings.get(name) ?? {};
    this.doings.set(name, {
      times: times + 1,
      longest: Math.max(longest, (performance.now() - began) / 1000),
    });
    return result;
  }

  async #backUp(): Promise<void> {
    const { service, directory } = this.#lab;
    const to = join(directory, 'backup');
    await this.#timed('backup', () => service.cli(['backup', '--to', to]));
    await rm(to, { recursive: true });
  }

  #verifyAgain(): Promise<void> {
    const { service } = this.#lab;
    const verify = ['verify', '--org', 'acme'];
    return this.#again(() => this.#timed('verify', async () => void (await service.cli(verify))));
  }

  /** Old events arrive, and a shorter retention removes them again. */
  async #retain(): Promise<void> {
    const { service, engine, database } = this.#lab;
    const { slug, id, dataset } = this.#aged;
    const left = `SELECT count() FROM ${database}.events WHERE org = '${id}' AND time < now() - INTERVAL 40 DAY`;
    await service.cli(['org', 'set', '--org', slug, '--retention', 'off']);
    await this.#timed('until old events were taken again', () => this.#heard());
    await this.#sendAged();
    await this.#timed(`retention of ${dataset.events} events`, async () => {
      const set = ['org', 'set', '--org', slug, '--retention', '30d'];
      await service.cli([...set, '--confirm', String(await engine.number(left))]);
      const until = performance.now() + removedMsMax;
      while ((await engine.number(left)) > 0) {
        if (performance.now() > until) throw new Error('a shorter retention did not remove what is over');
        await sleep(sampleMs);
      }
    });
  }

  /** Waits until the server accepts old events again: at most two seconds. */
  async #heard(): Promise<void> {
    const { service } = this.#lab;
    const { key } = this.#aged;
    const until = performance.now() + heardMsMax;
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const timestamp = Date.now() * 1000 - agedDays * dayMicros;
    const body = JSON.stringify({ message: { timestamp, action: 1001 } });
    for (;;) {
      const answer = await fetch(`${service.url}/api/v1/audit`, { method: 'POST', headers, body });
      if (answer.status === 202) return;
      if (performance.now() > until)
        throw new Error(`an old event was answered ${answer.status}: ${await answer.text()}`);
      await sleep(50);
    }
  }

  async #sendAged(): Promise<void> {
    const { service, engine, database } = this.#lab;
    const { dataset, head, id } = this.#aged;
    const writer = startGenerator();
    try {
      await writer.run({
        targets: [service],
        heads: [head],
        steps: dataset.batches.map((body) => [{ target: 0, head: 0, body }]),
        clients: 1,
        stop: { steps: dataset.batches.length },
        stepsPerSecond: agedPerSecond / batchEvents,
        dataFile: dataset.path,
        status: 202,
      });
    } finally {
      writer.stop();
    }
    const count = `SELECT count() FROM ${database}.events WHERE org = '${id}' AND time < now() - INTERVAL 40 DAY`;
    while ((await engine.number(count)) < dataset.events) await sleep(sampleMs);
  }
}

async function stretchOf(sender: ReadingSender, eventsPerSecond: number, seconds: number): Promise<Stretch> {
  const { lab, readKey } = sender;
  const reader = startGenerator();
  const job = {
    ...batchJob(sender, 0),
    stop: { seconds },
    stepsPerSecond: eventsPerSecond / batchEvents,
    // Nearly in the order of time, as producers send them.
    setTimesToNow: true,
  };
  try {
    const { result, samples } = await sampled(lab, () =>
      Promise.all([lab.generator.run(job), reader.run(pagesJob(lab, readKey, seconds))]),
    );
    const [writes, pages] = result;
    return { writes, pages, samples };
  } finally {
    reader.stop();
  }
}

/** Waits for the first checkpoint. */
async function signed({ lab, readKey }: ReadingSender): Promise<void> {
  const until = performance.now() + signedMsMax;
  const ask = () =>
    fetch(`${lab.service.url}/api/v1/audit/evidence/checkpoint`, { headers: { 'X-API-Key': readKey } });
  while (!(await ask()).ok) {
    if (performance.now() > until) throw new Error('no checkpoint was signed');
    await sleep(sampleMs);
  }
}

async function agedOrganization(lab: Lab): Promise<Aged> {
  const { slug, id, key } = await lab.organization('aged');
  const at = Date.now() * 1000 - agedDays * dayMicros;
  const dataset = await writeDataset(join(lab.directory, 'aged.ndjson'), agedEvents, [slug], at);
  return { slug, id, key, dataset, head: postHead(lab, key) };
}

/**
 * Ingest at half of full speed and pages at a slow pace, first alone, then beside continuous backups, changes of retention and
 * verifications. Nothing may be lost, and pages may take at most twice as long.
 */
export async function benchUpkeep(
  sender: ReadingSender,
  seconds: number,
): Promise<{ result: CaseResult; series: Series[] }> {
  const { lab } = sender;
  const aged = await agedOrganization(lab);
  const others = () =>
    lab.engine.number(`SELECT count() FROM ${lab.database}.events WHERE org != '${aged.id}'`);
  const before = await others();
  const full = await lab.generator.run({ ...batchJob(sender, 0), setTimesToNow: true });
  const sentFirst = full.steps * batchEvents;
  const visibleMs = await lab.visible(before + sentFirst);
  const eventsPerSecond = Math.round((sentFirst / ((visibleMs - full.startedMs) / 1000)) * paceShare);
  await lab.engine.mergesDone();
  const alone = await stretchOf(sender, eventsPerSecond, Math.min(seconds, aloneSecondsMax));
  await signed(sender);
  const upkeep = new Upkeep(lab, aged);
  const beside = await stretchOf(sender, eventsPerSecond - agedPerSecond, seconds);
  await upkeep.stop();
  const sent = sentFirst + (alone.writes.steps + beside.writes.steps) * batchEvents;
  await lab.visible(before + sent);
  const stored = (await others()) - before;
  if (stored !== sent) throw new Error(`${sent} events were acknowledged, and ${stored} are stored`);
  return reportOf(alone, beside, { eventsPerSecond, sent, doings: upkeep.doings });
}

const milliseconds = (result: JobResult): string =>
  quantilesMs(result.latency, [0.5, 0.99])
    .map((ms) => ms.toFixed(0))
    .join(' and ');

/** Without the commands, which are other processes. */
const busy = (samples: readonly Sample[]): string =>
  `service ${coresOf(samples, (one) => one.serviceCpu)}, engine ${coresOf(samples, (one) => one.engineCpu)}`;

function reportOf(
  alone: Stretch,
  beside: Stretch,
  { eventsPerSecond, sent, doings }: { eventsPerSecond: number; sent: number; doings: Doings },
): { result: CaseResult; series: Series[] } {
  const span = (beside.writes.endedMs - beside.writes.startedMs) / 1000;
  return {
    result: {
      id: 'upkeep',
      title: `${Math.round(span)} s at half of full speed, ${eventsPerSecond} events/s, with backups, changes of retention and verify`,
      unit: 'events',
      service: {
        rate: summarize([(beside.writes.steps * batchEvents) / span]),
        latency: beside.writes.latency,
      },
      notes: [
        `${sent} events acknowledged, as many stored`,
        ...[...doings].map(
          ([name, { times, longest }]) => `${name}: ${times} times, ${longest.toFixed(1)} s at most`,
        ),
        `pages p50 and p99: ${milliseconds(alone.pages)} ms without upkeep, ${milliseconds(beside.pages)} ms with it`,
        `acknowledged p50 and p99: ${milliseconds(alone.writes)} ms without, ${milliseconds(beside.writes)} ms with it`,
        `busy cores without: ${busy(alone.samples)}; with it: ${busy(beside.samples)}`,
        drift(beside.samples, 'service', (one) => one.service),
        drift(beside.samples, 'engine', (one) => one.engine),
        drift(beside.samples, 'backlog', (one) => one.backlog),
        drift(beside.samples, 'active parts', (one) => one.parts, ''),
      ],
    },
    series: [
      memorySeries(
        'upkeep.memory',
        'Memory and backlog beside backups, changes of retention and verify',
        beside.samples,
      ),
    ],
  };
}
