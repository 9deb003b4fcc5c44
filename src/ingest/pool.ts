import { Piscina } from 'piscina';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import type { Admission } from './throttle.ts';
import type { MapResult, MapTask, SplitResult, SplitTask, WorkerSettings } from './task.ts';

export interface WorkerPool {
  /**
   * Runs a task on a worker thread. Its buffers are given away, shared memory aside. Rejects with a Problem: 503 when
   * too many wait, 500 when the worker fails.
   */
  map(task: MapTask): Promise<MapResult>;
  split(task: SplitTask): Promise<SplitResult>;
  readonly threads: number;
  queued(): number;
  close(): Promise<void>;
}

export interface PoolOptions {
  /** URL of another worker module: one that hangs or crashes, to see what becomes of its neighbours. */
  readonly filename?: string;
  readonly taskMsMax?: number;
  /** Threads are started with the first tasks that need them; else at once. */
  readonly isLazy?: boolean;
  /** Asked before a task begins that maps events, and told what came of it. */
  readonly throttle?: Admission;
}

/** Run from its sources, a thread needs the TypeScript loader anew: threads do not inherit module hooks. */
function threadArguments(): string[] {
  if (!import.meta.url.endsWith('.ts')) return [];
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  return [
    '--import',
    `data:text/javascript,${encodeURIComponent(`import{register}from${loader};register();`)}`,
  ];
}

type Task = MapTask | SplitTask;

interface Queued {
  readonly task: Task;
  done(result: Promise<MapResult | SplitResult>): void;
  /** Since it is the oldest one and has to wait for the engine. */
  heldSince?: number;
}

function buffersOf(task: Task): ArrayBuffer[] {
  const buffers = task.kind === 'map' ? [task.output] : [];
  const { buffer } = task.input;
  return buffer instanceof ArrayBuffer ? [...buffers, buffer] : buffers;
}

/**
 * A fixed number of worker threads; one that crashes or hangs is replaced, and only its task fails.
 *
 * Tasks wait here and not in the pool: there, a task that can be aborted is passed over by later ones for as long as
 * every thread has work, which under load is seconds.
 */
export function startPool(
  threads: number,
  settings: WorkerSettings,
  log: Logger,
  { filename, taskMsMax, isLazy = false, throttle }: PoolOptions = {},
): WorkerPool {
  const pool = new Piscina<Task, MapResult | SplitResult>({
    filename: filename ?? import.meta.url.replace(/pool(\.[jt]s)$/, 'worker$1'),
    minThreads: isLazy ? 0 : threads,
    maxThreads: threads,
    idleTimeout: Number.POSITIVE_INFINITY,
    workerData: settings,
    resourceLimits: {
      maxOldGenerationSizeMb: limits.workerHeapMegabytesMax,
      // Nearly all a task allocates is dead at its end: room for a few tasks spares copying what is still in use.
      maxYoungGenerationSizeMb: limits.workerYoungMegabytesMax,
    },
    execArgv: threadArguments(),
  });
  // A worker that dies outside of a task (out of memory, say) is reported here; the pool starts another.
  pool.on('error', (error: unknown) => log.error(errorFacts(error), 'an ingest worker failed'));
  const queue: Queued[] = [];
  let running = 0;
  let held: NodeJS.Timeout | undefined;
  let closed = false;

  /** Milliseconds for which a task has to wait for the engine. */
  function holdMs(next: Queued): number {
    const waitMs = next.task.kind === 'map' && throttle ? throttle.delayMs() : 0;
    if (waitMs === 0) return 0;
    const now = performance.now();
    next.heldSince ??= now;
    return Math.max(0, Math.min(waitMs, next.heldSince + limits.throttleHoldMsMax - now));
  }

  /** A task goes to the pool only when a thread is free for it and the engine keeps up, oldest first. */
  function dispatch(): void {
    if (held !== undefined) return;
    while (running < threads && queue.length > 0) {
      const waitMs = holdMs(queue[0] as Queued);
      if (waitMs > 0) {
        held = setTimeout(
          () => {
            held = undefined;
            dispatch();
          },
          Math.min(Math.ceil(waitMs), limits.throttleCheckMs),
        );
        return;
      }
      const next = queue.shift() as Queued;
      running += 1;
      next.done(
        work(next.task).finally(() => {
          running -= 1;
          dispatch();
        }),
      );
    }
  }

  async function work(task: Task): Promise<MapResult | SplitResult> {
    const hung = AbortSignal.timeout(taskMsMax ?? limits.workerTaskMsMax);
    try {
      const result = await pool.run(task, { transferList: buffersOf(task), signal: hung });
      if ('blocks' in result) throttle?.admitted(result.blocks.reduce((sum, { rows }) => sum + rows, 0));
      return result;
    } catch (error) {
      log.error(
        { task: task.kind, bytes: task.input.length, ...errorFacts(error) },
        'an ingest worker did not finish its task',
      );
      throw new Problem('internal', 'The batch could not be processed.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    }
  }

  function shuttingDown(): Problem {
    return new Problem('unavailable', 'The server is shutting down.', { retryAfterSeconds: 1 });
  }

  function run(task: Task): Promise<MapResult | SplitResult> {
    if (closed) return Promise.reject(shuttingDown());
    if (queue.length >= limits.workerQueueTasksMax) {
      const busy = 'Too many batches are waiting; try again later.';
      return Promise.reject(new Problem('unavailable', busy, { retryAfterSeconds: 1 }));
    }
    return new Promise((done) => {
      queue.push({ task, done });
      dispatch();
    });
  }

  return {
    map: (task) => run(task) as Promise<MapResult>,
    split: (task) => run(task) as Promise<SplitResult>,
    threads,
    queued: () => queue.length,
    async close() {
      closed = true;
      clearTimeout(held);
      for (const { done } of queue.splice(0)) done(Promise.reject(shuttingDown()));
      await pool.destroy();
    },
  };
}
