import { setTimeout as sleep } from 'node:timers/promises';
import { batchEvents } from '../lab/dataset.ts';
import { metric } from '../lab/metric.ts';
import { drift, lineOf, memorySeries, mostOf, sampled } from '../lab/sampling.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult, Series } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import { batchJob, type IngestLab } from './ingest.ts';

const lagSampleMs = 200;
/** Long enough for a backlog to show. */
const fullSpeedSeconds = 30;
/** Share of the full speed. */
const paceShare = 0.7;

/** Runs at full speed, and checks that acknowledged events become readable in time. */
async function lagAtFullSpeed(ready: IngestLab): Promise<string> {
  const { lab } = ready;
  const job = batchJob(ready, 0);
  const before = await lab.events();
  const lags: number[] = [];
  const sending = lab.generator.run({ ...job, stop: { seconds: fullSpeedSeconds } });
  const ended = sending.then(() => true);
  while (!(await Promise.race([ended, sleep(lagSampleMs, false)]))) {
    lags.push(await metric(lab.service.url, 'auditlog_ingest_lag_seconds'));
  }
  const { steps, startedMs, endedMs, latency } = await sending;
  await lab.visible(before + steps * batchEvents);
  const rate = (steps * batchEvents) / ((endedMs - startedMs) / 1000);
  const [p50, p99] = quantilesMs(latency, [0.5, 0.99]);
  const sorted = lags.toSorted((a, b) => a - b);
  return (
    `${fullSpeedSeconds} s at full speed: ${Math.round(rate)} events/s acknowledged, p50 ${p50?.toFixed(0)} ms, ` +
    `p99 ${p99?.toFixed(0)} ms; the oldest unread one had waited ${sorted[sorted.length >> 1]?.toFixed(2)} s ` +
    `at the median and ${sorted.at(-1)?.toFixed(2)} s at most`
  );
}

/**
 * Ingest at 70 % of full speed for a long time: the log, the parts of the table and the memory of both processes, sampled every
 * second, must not grow. Full speed is measured first, over one pass of the data, and again at the end, for the time until
 * acknowledged events are readable.
 */
export async function benchSoak(
  ready: IngestLab,
  seconds: number,
): Promise<{ result: CaseResult; series: Series[] }> {
  const { lab, plan } = ready;
  const { engine, generator } = lab;
  const before = await lab.events();
  const full = await generator.run(batchJob(ready, 0));
  const visibleMs = await lab.visible(before + full.steps * batchEvents);
  const fullRate = (full.steps * batchEvents) / ((visibleMs - full.startedMs) / 1000);
  const eventsPerSecond = Math.round(fullRate * paceShare);
  await engine.mergesDone();

  const job = { ...batchJob(ready, 0), stop: { seconds }, stepsPerSecond: eventsPerSecond / batchEvents };
  const { result, samples } = await sampled(lab, () => generator.run(job));
  const events = result.steps * batchEvents;
  await lab.visible(before + full.steps * batchEvents + events);
  const [p50, p99, p999] = quantilesMs(result.latency, [0.5, 0.99, 0.999]);
  const span = (result.endedMs - result.startedMs) / 1000;
  const atFullSpeed = await lagAtFullSpeed(ready);
  return {
    result: {
      id: 'soak',
      title: `${Math.round(span)} s at ${eventsPerSecond} events/s, 70 % of full speed, ${plan.clients} clients`,
      unit: 'events',
      service: {
        rate: summarize([events / span]),
        latency: result.latency,
        generatorMicros: result.cpuMicros / events,
      },
      notes: [
        `acknowledged p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, p99.9 ${p999?.toFixed(1)} ms, counted from when each batch was due`,
        drift(samples, 'service', (one) => one.service),
        drift(samples, 'engine', (one) => one.engine),
        drift(samples, 'backlog', (one) => one.backlog),
        drift(samples, 'active parts', (one) => one.parts, ''),
        `readable: the oldest unread event had waited ${mostOf(samples, (one) => one.lag).toFixed(2)} s at most`,
        atFullSpeed,
      ],
    },
    series: [
      memorySeries('soak.memory', 'Memory and backlog at 70 % of full speed', samples),
      {
        id: 'soak.parts',
        title: 'Active parts of the table',
        x: 'seconds',
        y: 'parts',
        lines: [lineOf(samples, 'active parts', (one) => one.parts)],
      },
    ],
  };
}
