import { Piscina } from 'piscina';
import { limits } from '../base/limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import type { Task, TaskResult, WorkerSettings } from './task.ts';

export interface WorkerPool {
  /** Runs a task on a worker thread. Rejects with a Problem: 503 when too many wait, 500 when the worker fails. */
  run(task: Task, transfer: readonly ArrayBuffer[]): Promise<TaskResult>;
  queued(): number;
  close(): Promise<void>;
}

export interface PoolOptions {
  /** URL of another worker module: one that hangs or crashes, to see what becomes of its neighbours. */
  readonly filename?: string;
  readonly taskMsMax?: number;
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

/** A fixed number of worker threads; one that crashes or hangs is replaced, and only its task fails. */
export function startPool(
  threads: number,
  settings: WorkerSettings,
  log: Logger,
  { filename, taskMsMax }: PoolOptions = {},
): WorkerPool {
  const pool = new Piscina<Task, TaskResult>({
    filename: filename ?? import.meta.url.replace(/pool(\.[jt]s)$/, 'worker$1'),
    minThreads: threads,
    maxThreads: threads,
    maxQueue: limits.workerQueueTasksMax,
    workerData: settings,
    resourceLimits: { maxOldGenerationSizeMb: limits.workerHeapMegabytesMax },
    execArgv: threadArguments(),
  });
  // A worker that dies outside of a task (out of memory, say) is reported here; the pool starts another.
  pool.on('error', (error: unknown) => log.error(errorFacts(error), 'an ingest worker failed'));
  return {
    async run(task, transfer) {
      if (pool.queueSize >= limits.workerQueueTasksMax) {
        throw new Problem('unavailable', 'Too many batches are waiting; try again later.', {
          retryAfterSeconds: 1,
        });
      }
      const hung = AbortSignal.timeout(taskMsMax ?? limits.workerTaskMsMax);
      try {
        return await pool.run(task, { transferList: [...transfer], signal: hung });
      } catch (error) {
        log.error(
          { requests: task.requests.length, ...errorFacts(error) },
          'an ingest worker did not finish its task',
        );
        throw new Problem('internal', 'The batch could not be processed.', {
          cause: error,
          retryAfterSeconds: 1,
        });
      }
    },
    queued: () => pool.queueSize,
    close: () => pool.destroy(),
  };
}
