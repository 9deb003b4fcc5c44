import { setTimeout as sleep } from 'node:timers/promises';
import type { Series } from '../stats/result.ts';
import type { Lab } from './lab.ts';
import { metric } from './metric.ts';
import { cpuMicros, residentBytes } from './process-stats.ts';

const sampleMs = 1000;

/** A sample of a service and its engine. */
export interface Sample {
  readonly second: number;
  /** Resident memory of both, and the log's size, in megabytes. */
  readonly service: number;
  readonly engine: number;
  readonly backlog: number;
  /** Active parts of the table. */
  readonly parts: number;
  /** Age of the oldest acknowledged, unreadable event, in seconds. */
  readonly lag: number;
  /** Processor time since they began, in seconds. */
  readonly serviceCpu: number;
  readonly engineCpu: number;
}

async function sampleOf({ service, engine, database }: Lab, began: number): Promise<Sample> {
  const parts = `SELECT count() FROM system.parts WHERE active AND database = '${database}' AND table = 'events'`;
  const { pid } = engine.access;
  return {
    second: (performance.now() - began) / 1000,
    service: (residentBytes(service.pid) ?? Number.NaN) / 1e6,
    engine: (residentBytes(pid) ?? Number.NaN) / 1e6,
    backlog: (await metric(service.url, 'auditlog_wal_bytes')) / 1e6,
    parts: await engine.number(parts),
    lag: await metric(service.url, 'auditlog_ingest_lag_seconds'),
    serviceCpu: (cpuMicros(service.pid) ?? Number.NaN) / 1e6,
    engineCpu: (cpuMicros(pid) ?? Number.NaN) / 1e6,
  };
}

/** Samples each second during `work`, and its result. */
export async function sampled<T>(
  lab: Lab,
  work: () => Promise<T>,
): Promise<{ result: T; samples: readonly Sample[] }> {
  const samples: Sample[] = [];
  const began = performance.now();
  const over = new AbortController();
  const sampling = (async () => {
    while (!over.signal.aborted) {
      samples.push(await sampleOf(lab, began));
      await sleep(sampleMs);
    }
  })();
  try {
    const [result] = await Promise.all([work().finally(() => over.abort()), sampling]);
    return { result, samples };
  } finally {
    over.abort();
  }
}

const meanOf = (samples: readonly Sample[], value: (one: Sample) => number): number =>
  samples.reduce((sum, one) => sum + value(one), 0) / samples.length;

export const mostOf = (samples: readonly Sample[], value: (one: Sample) => number): number =>
  Math.max(...samples.map(value));

/** Means of the first and the last third, and the maximum, which show a slow increase. */
export function drift(
  samples: readonly Sample[],
  name: string,
  value: (one: Sample) => number,
  unit = ' MB',
): string {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const [first, last] = [samples.slice(0, third), samples.slice(-third)].map((some) =>
    meanOf(some, value).toFixed(0),
  );
  return `${name}: first third ${first}${unit}, last third ${last}${unit}, most ${mostOf(samples, value).toFixed(0)}${unit}`;
}

/** Busy cores of a process, from its processor time. */
export function coresOf(samples: readonly Sample[], value: (one: Sample) => number): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return '-';
  return ((value(last) - value(first)) / (last.second - first.second)).toFixed(2);
}

export function lineOf(
  samples: readonly Sample[],
  name: string,
  value: (one: Sample) => number,
): Series['lines'][number] {
  return { name, points: samples.map((one) => [one.second, value(one)] as const) };
}

export function memorySeries(id: string, title: string, samples: readonly Sample[]): Series {
  return {
    id,
    title,
    x: 'seconds',
    y: 'MB',
    lines: [
      lineOf(samples, 'service resident', (one) => one.service),
      lineOf(samples, 'engine resident', (one) => one.engine),
      lineOf(samples, 'write-ahead log', (one) => one.backlog),
    ],
  };
}
