import { type HistogramData, mergeHistograms } from '../stats/histogram.ts';
import type { CaseResult, Side } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import type { JobResult } from '../load/job.ts';
import type { Lab } from './lab.ts';
import { cpuMicros, forgetPeak, peakBytes } from './process-stats.ts';

/** A short stretch of work on one side. */
export interface Slice {
  readonly units: number;
  readonly seconds: number;
  readonly latency?: HistogramData;
  readonly generatorCpuMicros?: number;
}

export interface Comparison {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly rounds: number;
  readonly service: (round: number) => Promise<Slice>;
  /** The process that does this work, if it is not the service. */
  readonly pid?: number;
  readonly reference?: {
    readonly name: string;
    readonly run: (round: number) => Promise<Slice>;
    /** The process that replaces the service; undefined if the engine is used directly. */
    readonly pid?: number;
    /** Its engine, if it has one. */
    readonly enginePid?: number | undefined;
  };
  /** Runs between slices, so that work left behind does not count for the next one. Its processor time counts. */
  readonly settle?: () => Promise<unknown>;
}

interface Measured extends Slice {
  readonly serviceCpu: number | undefined;
  readonly engineCpu: number | undefined;
}

/** A job's slice: `unitsPerStep` units for each of its steps. */
export function sliceOf(result: JobResult, unitsPerStep = 1): Slice {
  return {
    units: result.steps * unitsPerStep,
    seconds: (result.endedMs - result.startedMs) / 1000,
    latency: result.latency,
    generatorCpuMicros: result.cpuMicros,
  };
}

function difference(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}

/**
 * Measures the service and its reference in turns, A B B A A B …, so that changes of the machine's speed affect both. The result is
 * the median ratio of neighbours.
 */
export async function sideBySide(lab: Lab, comparison: Comparison): Promise<CaseResult> {
  const { id, title, unit, rounds, reference, settle } = comparison;
  const pid = comparison.pid ?? lab.service.pid;
  const enginePid = lab.engine.access.pid;

  async function measure(run: (round: number) => Promise<Slice>, round: number): Promise<Measured> {
    const isService = run === comparison.service;
    const server = isService ? pid : (reference?.pid ?? pid);
    const engine = isService ? enginePid : (reference?.enginePid ?? enginePid);
    const before = [cpuMicros(server), cpuMicros(engine)] as const;
    const slice = await run(round);
    await settle?.();
    const serviceCpu = difference(cpuMicros(server), before[0]);
    return { ...slice, serviceCpu, engineCpu: difference(cpuMicros(engine), before[1]) };
  }

  forgetPeak(pid);
  forgetPeak(enginePid);
  const own: Measured[] = [];
  const other: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const sides = [
      async () => own.push(await measure(comparison.service, round)),
      async () => reference && other.push(await measure(reference.run, round)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
  }
  const ratios = own.flatMap((slice, round) => {
    const beside = other[round];
    return beside ? [rate(slice) / rate(beside)] : [];
  });
  return {
    id,
    title,
    unit,
    service: sideOf(own),
    reference: reference && { name: reference.name, side: sideOf(other) },
    ratio: reference && summarize(ratios),
    notes: [],
    bytes: { 'service peak': peakBytes(pid), 'engine peak': peakBytes(enginePid) },
  };
}

const rate = ({ units, seconds }: Slice): number => units / seconds;

function sideOf(slices: readonly Measured[]): Side {
  // Of all slices together, as the kernel's ticks are too coarse for one.
  const units = slices.reduce((sum, slice) => sum + slice.units, 0);
  const perUnit = (value: (slice: Measured) => number | undefined): number | undefined => {
    const all = slices.map(value);
    return all.includes(undefined) ? undefined : (all as number[]).reduce((sum, one) => sum + one, 0) / units;
  };
  const latencies = slices.flatMap(({ latency }) => (latency === undefined ? [] : [latency]));
  return {
    rate: summarize(slices.map(rate)),
    latency: latencies.length === 0 ? undefined : mergeHistograms(latencies),
    serviceMicros: perUnit(({ serviceCpu }) => serviceCpu),
    engineMicros: perUnit(({ engineCpu }) => engineCpu),
    generatorMicros: perUnit(({ generatorCpuMicros }) => generatorCpuMicros),
  };
}
