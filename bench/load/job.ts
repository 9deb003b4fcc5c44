import type { HistogramData } from '../stats/histogram.ts';

/** What the load generator is told to do, and what it tells back; travels as JSON between two processes. */

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A request as it goes out. */
export interface WireRequest {
  /** Index into `targets` of the job. */
  readonly target: number;
  /** Index into `heads` of the job: request line and headers, each ended by CRLF, without Content-Length. */
  readonly head: number;
  /** Where in the job's data file the body is; no body when absent. */
  readonly body?: { readonly offset: number; readonly length: number };
}

/** Requests that one client sends at the same time, each on a connection of its own; done when all are answered. */
export type Step = readonly WireRequest[];

export interface Job {
  readonly targets: readonly Target[];
  readonly heads: readonly string[];
  /** Taken in turn by whichever client is free, from the first again after the last. */
  readonly steps: readonly Step[];
  readonly clients: number;
  /** Ends after this many seconds, or after this many steps. */
  readonly stop: { readonly seconds: number } | { readonly steps: number };
  /** Steps are begun at this pace, and their latency counts from when they were due; as fast as possible if absent. */
  readonly stepsPerSecond?: number;
  readonly dataFile?: string;
  /** The events of a body happen in the second in which it is sent: see `happensNow` of present.ts. */
  readonly happensNow?: boolean;
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
  /** Answers with another status and broken connections; the first few in words. */
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
