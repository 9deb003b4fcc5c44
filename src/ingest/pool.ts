import { EventEmitter } from 'node:events';
import { Piscina } from 'piscina';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import { threadArguments } from '../base/processes/worker-threads.ts';
import { traced } from '../base/observability/trace.ts';
import type { MapResult, MapTask, SplitResult, SplitTask, WorkerSettings } from './task.ts';
import type { Admission } from './throttle.ts';

const workerQueueTasksMax = 1024;
const workerTaskMsMax = 30_000;
const workerHeapMegabytesMax = 512;
const workerYoungMegabytesMax = 64;
const throttleCheckMs = 50;

export interface WorkerPoolOptions {
  readonly name?: string;
  readonly threads: number;
  readonly worker: WorkerSettings;
  readonly log: Logger;
  readonly isLazy?: boolean;
  /** Delays map tasks while the engine is behind. */
  readonly throttle?: Admission;
  readonly filename?: string | undefined;
  readonly taskMsMax?: number;
}

type Task = MapTask | SplitTask;
type Result = MapResult | SplitResult;

interface Queued {
  readonly task: Task;
  resolve(result: Promise<Result>): void;
  throttledSinceMs?: number;
}

/**
 * A fixed number of worker threads; one that crashes or hangs is replaced, and only its task fails. Tasks
 * queue here: Piscina passes over a task that can be aborted while every thread has work, which under load is
 * seconds.
 */
export class WorkerPool {
  readonly threads: number;
  readonly #options: WorkerPoolOptions;
  readonly #piscina: Piscina<Task, Result>;
  readonly #queue: Queued[] = [];
  readonly #busySeconds = counter(
    'auditlog_worker_busy_seconds_total',
    'Time that threads were busy with tasks, by the size of bodies',
    ['pool'],
  );
  #running = 0;
  #holdTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WorkerPoolOptions) {
    const { threads, worker, log, isLazy = false, filename } = options;
    this.threads = threads;
    this.#options = options;
    this.#piscina = new Piscina<Task, Result>({
      filename: filename ?? import.meta.url.replace(/pool(\.[jt]s)$/, 'worker$1'),
      minThreads: isLazy ? 0 : threads,
      maxThreads: threads,
      idleTimeout: Number.POSITIVE_INFINITY,
      workerData: worker,
      recordTiming: false,
      resourceLimits: {
        maxOldGenerationSizeMb: workerHeapMegabytesMax,
        maxYoungGenerationSizeMb: workerYoungMegabytesMax,
      },
      execArgv: filename?.endsWith('.js') ? [] : threadArguments(),
    });
    // A worker that dies outside a task, for example of memory; Piscina starts another.
    this.#piscina.on('error', (error: unknown) => log.error(errorFacts(error), 'An ingest worker failed'));
  }

  /**
   * Runs a task on a thread, which takes its buffers over. Rejects with a Problem: 503 if too many wait, 500
   * if the worker fails.
   */
  map(task: MapTask): Promise<MapResult> {
    return traced('worker', () => this.#enqueue(task)) as Promise<MapResult>;
  }

  split(task: SplitTask): Promise<SplitResult> {
    return traced('worker', () => this.#enqueue(task)) as Promise<SplitResult>;
  }

  queued(): number {
    return this.#queue.length;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#holdTimer);
    for (const { resolve } of this.#queue.splice(0)) resolve(Promise.reject(shuttingDown()));
    await this.#piscina.destroy();
  }

  async #enqueue(task: Task): Promise<Result> {
    if (this.#isClosed) throw shuttingDown();
    if (this.#queue.length >= workerQueueTasksMax) {
      throw unavailable('Too many batches are waiting; try again later.');
    }
    return new Promise((resolve) => {
      this.#queue.push({ task, resolve });
      this.#dispatch();
    });
  }

  /** Oldest first, while a thread is free and the engine keeps up. */
  #dispatch(): void {
    while (this.#holdTimer === undefined && this.#running < this.threads) {
      const [next] = this.#queue;
      if (next === undefined) return;
      const holdMs = this.#holdMs(next);
      if (holdMs > 0) this.#hold(holdMs);
      else {
        this.#queue.shift();
        next.resolve(this.#run(next.task));
      }
    }
  }

  #holdMs(next: Queued): number {
    const delayMs = next.task.kind === 'map' ? (this.#options.throttle?.delayMs() ?? 0) : 0;
    if (delayMs === 0) return 0;
    const nowMs = performance.now();
    next.throttledSinceMs ??= nowMs;
    return Math.max(0, Math.min(delayMs, next.throttledSinceMs + limits.throttleHoldMsMax - nowMs));
  }

  #hold(ms: number): void {
    const resume = (): void => {
      this.#holdTimer = undefined;
      this.#dispatch();
    };
    this.#holdTimer = setTimeout(resume, Math.min(Math.ceil(ms), throttleCheckMs));
  }

  async #run(task: Task): Promise<Result> {
    const { throttle, log, taskMsMax = workerTaskMsMax } = this.#options;
    this.#running += 1;
    const begunMs = performance.now();
    // Piscina accepts this as a signal; it costs 0.5 µs a task, `AbortSignal.timeout` 11.
    const signal = new EventEmitter();
    const timer = setTimeout(() => signal.emit('abort'), taskMsMax);
    try {
      const result = await this.#piscina.run(task, { transferList: buffersOf(task), signal });
      if ('blocks' in result) throttle?.admitted(result.blocks.reduce((sum, { rows }) => sum + rows, 0));
      return result;
    } catch (error) {
      const facts = { task: task.kind, bytes: task.input.length, ...errorFacts(error) };
      log.error(facts, 'An ingest worker did not finish its task');
      const detail = 'The batch could not be processed.';
      throw new Problem('internal', detail, { cause: error, retryAfterSeconds: 1 });
    } finally {
      clearTimeout(timer);
      this.#running -= 1;
      this.#busySeconds.inc({ pool: this.#options.name ?? 'other' }, (performance.now() - begunMs) / 1000);
      this.#dispatch();
    }
  }
}

function buffersOf(task: Task): ArrayBuffer[] {
  const { buffer } = task.input;
  const output = task.kind === 'map' ? [task.output] : [];
  return buffer instanceof ArrayBuffer ? [...output, buffer] : output;
}

function unavailable(detail: string): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: 1 });
}

function shuttingDown(): Problem {
  return unavailable('The server is shutting down.');
}
