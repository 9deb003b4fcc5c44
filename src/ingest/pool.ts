import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { limits } from '../base/limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
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
  /** Asked before a task begins that maps events: so many milliseconds later it does. */
  readonly turnMs?: () => number;
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
  { filename, taskMsMax, turnMs }: PoolOptions = {},
): WorkerPool {
  const pool = new Piscina<Task, MapResult | SplitResult>({
    filename: filename ?? import.meta.url.replace(/pool(\.[jt]s)$/, 'worker$1'),
    minThreads: threads,
    maxThreads: threads,
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

  /** A task goes to the pool only when a thread is free for it, oldest first. */
  function dispatch(): void {
    while (running < threads && queue.length > 0) {
      const next = queue.shift() as Queued;
      running += 1;
      const waitMs = next.task.kind === 'map' && turnMs ? turnMs() : 0;
      next.done(
        (waitMs > 0 ? sleep(waitMs).then(() => work(next.task)) : work(next.task)).finally(() => {
          running -= 1;
          dispatch();
        }),
      );
    }
  }

  async function work(task: Task): Promise<MapResult | SplitResult> {
    const hung = AbortSignal.timeout(taskMsMax ?? limits.workerTaskMsMax);
    try {
      return await pool.run(task, { transferList: buffersOf(task), signal: hung });
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

  function run(task: Task): Promise<MapResult | SplitResult> {
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
    close: () => pool.destroy(),
  };
}
