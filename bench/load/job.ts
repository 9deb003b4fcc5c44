import type { HistogramData } from '../stats/histogram.ts';

/** Jobs and results of the load generator, as JSON between two processes. */

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A request as it is sent. */
export interface WireRequest {
  /** Index into `targets` of the job. */
  readonly target: number;
  /** Index into `heads` of the job: request line and headers, each ended by CRLF, without Content-Length. */
  readonly head: number;
  /** Position of the body in the job's data file; absent without a body. */
  readonly body?: { readonly offset: number; readonly length: number };
}

/** Requests that one client sends at the same time, each on a connection of its own; done when all are answered. */
export type Step = readonly WireRequest[];

export interface Job {
  readonly targets: readonly Target[];
  readonly heads: readonly string[];
  /** Free clients take the steps in a cycle. */
  readonly steps: readonly Step[];
  readonly clients: number;
  /** Ends after this many seconds, or after this many steps. */
  readonly stop: { readonly seconds: number } | { readonly steps: number };
  /** Pace of the steps, whose latency counts from their due time; as fast as possible if absent. */
  readonly stepsPerSecond?: number;
  readonly dataFile?: string;
  /** Events get the second of sending as their time: see `setTimesToNow` of present.ts. */
  readonly setTimesToNow?: boolean;
  /** Status that every answer must have. */
  readonly status: number;
}

export interface JobResult {
  readonly steps: number;
  /** Milliseconds since 1970, with fractions: the clock that both processes share. */
  readonly startedMs: number;
  readonly endedMs: number;
  readonly bytesReceived: number;
  readonly latency: HistogramData;
  /** Processor time of the generator while the job ran. */
  readonly cpuMicros: number;
  /** Answers with another status, and broken connections; `failed` describes the first few. */
  readonly failures: number;
  readonly failed: readonly string[];
}

export interface GeneratorAnswer {
  readonly result?: JobResult;
  readonly error?: string;
}

/** Now, in milliseconds since 1970, fine enough to compare between processes. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}
