import { benchStart } from './cases/control-start.ts';
import { benchChange } from './cases/control.ts';
import { benchExport, benchFeed, benchLogin, Unavailable } from './cases/endpoints.ts';
import { benchEvidence } from './cases/evidence.ts';
import { benchFollow } from './cases/follow.ts';
import { benchGenerator } from './cases/generator.ts';
import { benchHostile } from './cases/hostile.ts';
import {
  benchIngest,
  benchSingles,
  dropIngest,
  postHead,
  prepareIngest,
  prepareSender,
} from './cases/ingest.ts';
import { benchIngestCost, costLab } from './cases/ingest-cost.ts';
import { benchMixed } from './cases/mixed.ts';
import { benchOcsfExport, benchOcsfPage } from './cases/ocsf.ts';
import { readCases } from './cases/read-cases.ts';
import { benchPassThrough, benchRead, type ReadPlan } from './cases/reads.ts';
import { benchRewrites } from './cases/rewrites.ts';
import { benchSoak } from './cases/soak.ts';
import { benchSustained } from './cases/sustained.ts';
import { benchUpkeep } from './cases/upkeep.ts';
import { benchWeb } from './cases/web.ts';
import { benchPeer, peers } from './cases/peers.ts';
import { writeDataset } from './lab/dataset.ts';
import { openKept } from './lab/kept-data.ts';
import { type Lab, type LabOptions, openLab } from './lab/lab.ts';
import { prepareReads, type ReadData } from './lab/read-data.ts';
import type { Options } from './options.ts';
import type { CaseResult, Series } from './stats/result.ts';
import { join } from 'node:path';

/** Receives results during a run. */
export interface Sink {
  /** True if the options select a case of this name. */
  wanted(id: string): boolean;
  add(results: readonly CaseResult[]): void;
  addSeries(series: readonly Series[]): void;
  skip(why: string): void;
}

/** Cases over the events of one large organization. */
const ofReadData = ['read', 'mixed', 'export', 'feed.page', 'feed.idle', 'web', 'evidence'];
const sliceEvents = 400_000;
const readRounds = 6;
const costSlices = 4;
/** Rate of ingest beside reads, unless the run has measured one. */
const eventsPerSecondDefault = 40_000;

const followCases = [
  { id: 'feed.follow', limit: 1000 },
  { id: 'feed.follow-large', limit: 10_000 },
  { id: 'feed.follow-gzip', limit: 1000, gzip: true },
] as const;

/** Each group has its own service and engine, so that groups do not affect each other. */
async function inLab(
  options: Pick<Options, 'url'>,
  run: (lab: Lab) => Promise<void>,
  more: Omit<LabOptions, 'url'> = {},
): Promise<void> {
  const lab = await openLab({ url: options.url, ...more });
  try {
    await run(lab);
  } finally {
    await lab.close();
  }
}

/** Runs the selected load cases, those with the cheapest preparation first. */
export async function runLoadCases(options: Options, sink: Sink): Promise<void> {
  if (sink.wanted('generator')) sink.add(await benchGenerator(Math.min(5, options.seconds)));
  let ingestRate = eventsPerSecondDefault * 2;
  if (sink.wanted('ingest.cost') && options.url === undefined) {
    const plan = {
      events: Math.min(options.rows, sliceEvents),
      slices: costSlices,
      clients: options.clients,
    };
    await inLab(options, async (lab) => sink.add([await benchIngestCost(lab, plan)]), costLab);
  }
  if (['ingest.batches', 'ingest.single'].some(sink.wanted)) {
    await inLab(options, async (lab) => {
      const slices = Math.min(10, Math.max(3, Math.round(options.rows / sliceEvents)));
      const ready = await prepareIngest(lab, { events: options.rows, slices, clients: options.clients });
      if (sink.wanted('ingest.batches')) {
        const result = await benchIngest(ready);
        ingestRate = result.service.rate.median;
        sink.add([result]);
      }
      if (sink.wanted('ingest.single'))
        sink.add([await withOther(options, (other) => benchSingles(ready, options.seconds, other))]);
      dropIngest(ready);
    });
  }
  if (sink.wanted('hostile')) {
    await inLab(options, async (lab) =>
      sink.add(await benchHostile(lab, { seconds: options.seconds, wanted: sink.wanted })),
    );
  }
  if (sink.wanted('control.change'))
    await inLab(options, async (lab) =>
      sink.add([await withOther(options, (other) => benchChange(lab, other))]),
    );
  if (sink.wanted('control.start') && options.url === undefined) sink.add([await benchStart()]);
  if (sink.wanted('soak')) await runSoak(options, sink);
  const follows = followCases.filter(({ id }) => sink.wanted(id));
  if (follows.length > 0) {
    await inLab(options, async (lab) => {
      const { seconds, clients } = options;
      const events = Math.min(options.rows, sliceEvents);
      for (const one of follows) sink.add([await benchFollow(lab, { ...one, events, seconds, clients })]);
    });
  }
  if ([...ofReadData, 'login'].some(sink.wanted)) {
    if (options.data !== undefined) openKept(options.data, options.readRows);
    await inLab(options, (lab) => runReadCases(lab, options, sink, ingestRate / 2), { keptIn: options.data });
  }
  for (const peer of peers)
    await attempt(sink, `peers.${peer.id}`, () => {
      const { peersRows, seconds, clients } = options;
      const plan = { events: peersRows, seconds, clients, wanted: sink.wanted };
      return inLab(options, async (lab) => sink.add(await benchPeer(lab, peer, plan)));
    });
  // These take minutes, so they run only if selected by name.
  if (options.only.includes('ingest.sustained')) await runSustained(options, sink);
  if (options.only.some((one) => one.startsWith('upkeep'))) await runUpkeep(options, sink);
}

/** Runs beside the service of another commit, if given. */
async function withOther(
  { url, beside }: Options,
  run: (other?: Lab) => Promise<CaseResult>,
): Promise<CaseResult> {
  if (beside === undefined) return run();
  const other = await openLab({ url, checkout: beside });
  try {
    return await run(other);
  } finally {
    await other.close();
  }
}

async function runSoak(options: Options, sink: Sink): Promise<void> {
  await inLab(options, async (lab) => {
    const events = Math.min(options.rows, sliceEvents);
    const ready = await prepareIngest(lab, { events, slices: 1, clients: options.clients });
    // In a full run, ten minutes are too long.
    const seconds = options.only.includes('soak') ? options.seconds : Math.min(60, options.seconds * 6);
    const { result, series } = await benchSoak(ready, seconds);
    sink.add([result]);
    sink.addSeries(series);
  });
}

async function runSustained({ url, rows, clients }: Options, sink: Sink): Promise<void> {
  await inLab({ url }, async (lab) => {
    const sender = await prepareSender(lab, { events: Math.min(rows, sliceEvents), slices: 1, clients });
    const { result, series } = await benchSustained(sender, rows);
    sink.add([result]);
    sink.addSeries(series);
  });
}

async function runUpkeep(options: Options, sink: Sink): Promise<void> {
  const run = async (lab: Lab): Promise<void> => {
    const { seconds, clients } = options;
    const events = Math.min(options.rows, sliceEvents);
    const sender = await prepareSender(lab, { events, slices: 1, clients });
    const { result, series } = await benchUpkeep(sender, seconds);
    sink.add([result]);
    sink.addSeries(series);
  };
  await inLab(options, run, { intervals: { retentionGraceMs: 5000 } });
}

async function runReadCases(lab: Lab, options: Options, sink: Sink, eventsPerSecond: number): Promise<void> {
  const { clients, seconds } = options;
  const plan: ReadPlan = { clients, seconds, rounds: readRounds };
  if (sink.wanted('login')) sink.add([await benchLogin(lab, plan)]);
  if (!ofReadData.some(sink.wanted)) return;
  const data = await prepareReads(lab, options.readRows);
  const steps = [Math.round(options.readRows / 10), options.readRows];
  const growth: CaseResult[][] = [];
  // Kept data shows no growth, complete or not.
  const grows = sink.wanted('read') && data.rows() <= (steps[0] ?? 0);
  for (const rows of grows ? steps : steps.slice(1)) {
    await data.growTo(rows);
    if (!sink.wanted('read')) continue;
    const results: CaseResult[] = [];
    for (const read of await readCases(data)) {
      if (!sink.wanted(read.id)) continue;
      const named = { ...read, title: `${read.title}, ${rows} events` };
      results.push(await benchRead(lab, data, named, plan));
    }
    growth.push(results);
  }
  if (sink.wanted('read.pass-through')) sink.add([await benchPassThrough(lab, data, plan)]);
  if (sink.wanted('read.rewrites')) sink.add([await benchRewrites(lab, data)]);
  if (sink.wanted('read.page-ocsf')) sink.add([await benchOcsfPage(lab, data, plan)]);
  const [small = [], large = []] = grows ? growth : [[], ...growth];
  sink.add(withGrowth(small, large));
  sink.addSeries(growthSeries(small, large, steps));
  await attempt(sink, 'export', async () => {
    for (const format of ['ndjson', 'csv'] as const) {
      if (sink.wanted(`export.${format}`)) sink.add([await benchExport(lab, data, format, 3)]);
    }
  });
  if (sink.wanted('export.ocsf')) sink.add([await benchOcsfExport(lab, data, 3)]);
  if (sink.wanted('evidence')) sink.add(await benchEvidence(lab, data, sink.wanted));
  await attempt(sink, 'feed.page', async () => sink.add(await benchFeed(lab, data, plan)));
  await attempt(sink, 'web', async () => sink.add(await benchWeb(lab, data, plan, sink.wanted)));
  if (sink.wanted('mixed')) await runMixed(lab, data, options, sink, eventsPerSecond);
}

async function runMixed(
  lab: Lab,
  data: ReadData,
  { clients, seconds }: Options,
  sink: Sink,
  eventsPerSecond: number,
): Promise<void> {
  const { slug, key } = await lab.organization('mixed');
  const dataset = await writeDataset(join(lab.directory, 'mixed.ndjson'), 200_000, [slug]);
  const writeHead = postHead(lab, key);
  const rate = Math.round(eventsPerSecond / 1000) * 1000;
  const plan = { seconds: seconds * 2, rounds: readRounds, clients, eventsPerSecond: rate };
  sink.add([await benchMixed(lab, data, { dataset, writeHead }, plan)]);
}

async function attempt(sink: Sink, id: string, run: () => Promise<void>): Promise<void> {
  if (!sink.wanted(id)) return;
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    sink.skip(`${id}: ${error.message}`);
  }
}

/** The cases over all rows, each compared with a tenth of the rows. */
function withGrowth(small: readonly CaseResult[], large: readonly CaseResult[]): CaseResult[] {
  return large.map((result, index) => {
    const before = small[index];
    if (before === undefined) return result;
    const grown = before.service.rate.median / result.service.rate.median;
    const bare = (before.reference?.side.rate.median ?? 0) / (result.reference?.side.rate.median ?? 1);
    const note = `ten times the rows: ${grown.toFixed(2)} times the time; bare engine ${bare.toFixed(2)}`;
    return { ...result, growth: grown, notes: [...result.notes, note] };
  });
}

/** All cases would overload the chart. */
const drawn = new Set(
  [
    'page',
    'deep',
    'range-deep',
    'actor-frequent',
    'actor-rare',
    'fileName-frequent',
    'flow-far',
    'count',
  ].map((name) => `read.${name}`),
);

function growthSeries(
  small: readonly CaseResult[],
  large: readonly CaseResult[],
  rows: readonly number[],
): Series[] {
  const lines = large.flatMap((result, index) => {
    const before = small[index];
    if (before === undefined || !drawn.has(result.id)) return [];
    const points = [before, result].map(
      ({ service }, at) => [rows[at] ?? 0, 1000 / service.rate.median] as const,
    );
    return [{ name: result.id.replace('read.', ''), points }];
  });
  if (lines.length === 0) return [];
  return [
    {
      id: 'growth',
      title: 'Time of a page as rows grow tenfold',
      x: 'events',
      y: 'ms of the machine a page',
      lines,
    },
  ];
}
