import type { HistogramData } from './histogram.ts';
import type { Summary } from './summary.ts';

/** One side of a comparison: the service or its reference. */
export interface Side {
  /** Units a second. */
  readonly rate: Summary;
  readonly latency?: HistogramData | undefined;
  /** Processor time a unit, in microseconds; undefined if unknown. */
  readonly serviceMicros?: number | undefined;
  readonly engineMicros?: number | undefined;
  readonly generatorMicros?: number | undefined;
}

/** Measurements of a case. */
export interface CaseResult {
  readonly id: string;
  readonly title: string;
  /** In the plural: `events`, `pages`. */
  readonly unit: string;
  readonly service: Side;
  readonly reference?: { readonly name: string; readonly side: Side } | undefined;
  /** Service over reference, of slices that ran next to each other; above 1 the service is faster. */
  readonly ratio?: Summary | undefined;
  /** How many times as long it takes with ten times the rows. */
  readonly growth?: number;
  /** Further figures with their names, as text. */
  readonly notes: readonly string[];
  /** Peaks and sizes by name, in bytes. */
  readonly bytes?: Readonly<Record<string, number | undefined>>;
}

/** Points over time or over rows, for a chart. */
export interface Series {
  readonly id: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly {
    readonly name: string;
    readonly points: readonly (readonly [x: number, y: number])[];
  }[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly node: string;
  readonly system: string;
}

export interface RunResult {
  readonly format: 1;
  readonly startedAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly cases: readonly CaseResult[];
  readonly series: readonly Series[];
  readonly skipped: readonly string[];
}
