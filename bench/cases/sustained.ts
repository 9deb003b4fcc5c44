import { batchEvents } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { cpuMicros } from '../lab/process-stats.ts';
import type { Job } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult, Series } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';
import { batchJob, type Sender } from './ingest.ts';

const windowEventsMax = 2_000_000;
const pagesOfWindow = 20;
const visiblePollMs = 100;

interface Cpu {
  readonly service: number;
  readonly engine: number;
}

/** What one window of events cost; its merges may run in a later one. */
interface Window extends Cpu {
  /** Through this many events. */
  readonly events: number;
  readonly rate: number;
  readonly parts: number;
  readonly pageMs: number;
}

/** Sends events at full speed in windows, without a pause, and measures a first page after each. */
export async function benchSustained(
  sender: Sender & { readonly readKey: string },
  events: number,
): Promise<{ result: CaseResult; series: Series[] }> {
  const { lab, plan } = sender;
  const windowEvents = Math.min(windowEventsMax, events);
  const windows: Window[] = [];
  const pagesCpu = { service: 0, engine: 0 };
  const begun = cpuOf(lab);
  while ((windows.at(-1)?.events ?? 0) < events) {
    const through = (windows.length + 1) * windowEvents;
    const { rate, cpu } = await sendWindow(sender, through, windowEvents);
    const before = cpuOf(lab);
    const parts = await lab.engine.number(partsQuery(lab, 'count()'));
    const pageMs = await firstPageMs(sender);
    add(pagesCpu, since(lab, before));
    windows.push({ events: through, rate, parts, pageMs, ...cpu });
  }
  await lab.engine.mergesDone();
  const whole = since(lab, begun);
  const sent = windows.length * windowEvents;
  const bytes = await lab.engine.number(partsQuery(lab, 'sum(bytes_on_disk) / sum(rows)'));
  const rates = windows.map(({ rate }) => rate);
  const [first = Number.NaN] = rates;
  const ratio = (rate: number | undefined, of: number) => ((rate ?? Number.NaN) / of).toFixed(2);
  return {
    result: {
      id: 'ingest.sustained',
      title: `${sent} events at full speed, ${plan.clients} clients, in windows of ${windowEvents}`,
      unit: 'events',
      service: {
        rate: summarize(rates),
        serviceMicros: (whole.service - pagesCpu.service) / sent,
        engineMicros: (whole.engine - pagesCpu.engine) / sent,
      },
      notes: [
        `last window ${ratio(rates.at(-1), first)} of the first; slowest ${ratio(Math.min(...rates), median(rates))} of the median`,
        ...windows.map(line),
      ],
      bytes: { 'an event on disk': bytes },
    },
    series: [
      {
        id: 'sustained.rate',
        title: 'Events a second as the table grows',
        x: 'events',
        y: 'events/s',
        lines: [{ name: 'readable', points: windows.map(({ events: at, rate }) => [at, rate] as const) }],
      },
    ],
  };
}

/** Until all of its events are readable. */
async function sendWindow(
  sender: Sender,
  through: number,
  windowEvents: number,
): Promise<{ readonly rate: number; readonly cpu: Cpu }> {
  const { lab } = sender;
  const before = cpuOf(lab);
  const stored = through - windowEvents + (await ownEvents(lab));
  const job = { ...batchJob(sender, 0), happensNow: true, stop: { steps: windowEvents / batchEvents } };
  const { startedMs, steps } = await lab.generator.run(job);
  if (steps !== windowEvents / batchEvents) throw new Error('the generator sent another number of batches');
  const endedMs = await lab.visible(stored + windowEvents, visiblePollMs);
  const { service, engine } = since(lab, before);
  return {
    rate: windowEvents / ((endedMs - startedMs) / 1000),
    cpu: { service: service / windowEvents, engine: engine / windowEvents },
  };
}

/** Events of the service itself. */
const ownEvents = ({ engine, database }: Lab): Promise<number> =>
  engine.number(`SELECT count() FROM ${database}.events WHERE own`);

const partsQuery = ({ database }: Lab, figure: string): string =>
  `SELECT ${figure} FROM system.parts WHERE active AND database = '${database}' AND table = 'events'`;

async function firstPageMs({ lab, readKey }: Sender & { readonly readKey: string }): Promise<number> {
  const { host } = lab.service;
  const job: Job = {
    targets: [lab.service],
    heads: [`GET /api/v1/audit?limit=1000 HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${readKey}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients: 1,
    stop: { steps: pagesOfWindow },
    status: 200,
  };
  const { latency } = await lab.generator.run(job);
  const [p50 = Number.NaN] = quantilesMs(latency, [0.5]);
  return p50;
}

function line({ events, rate, service, engine, parts, pageMs }: Window): string {
  const cost = `${service.toFixed(1)} + ${engine.toFixed(1)} µs an event`;
  return `through ${events}: ${Math.round(rate)} events/s, ${cost}, ${parts} parts, first page ${pageMs.toFixed(1)} ms`;
}

const cpuOf = ({ service, engine }: Lab): Cpu => ({
  service: cpuMicros(service.pid) ?? Number.NaN,
  engine: cpuMicros(engine.access.pid) ?? Number.NaN,
});

function since(lab: Lab, before: Cpu): Cpu {
  const now = cpuOf(lab);
  return { service: now.service - before.service, engine: now.engine - before.engine };
}

function add(sum: { service: number; engine: number }, more: Cpu): void {
  sum.service += more.service;
  sum.engine += more.engine;
}
