import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Processor time of the threads of a process by what they do; Linux only. */

const namesFile = (directory: string): string => join(directory, 'threads');

/** Variables that make a service name its threads. */
export function threadNamesEnv(directory: string): Readonly<Record<string, string>> {
  // In the source folder, also for the compiled bench.
  const preload = fileURLToPath(new URL('../../../bench/lab/thread-names.cjs', import.meta.url));
  return { NODE_OPTIONS: `--require=${preload}`, BENCH_THREADS_FILE: namesFile(directory) };
}

export type ThreadGroup = 'main' | 'workers' | 'files' | 'runtime';

/** Microseconds that a thread has run; 0 for one that has just ended. */
function ranMicros(pid: number, thread: string): number {
  const path = `/proc/${pid}/task/${thread}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[0]) / 1000 : 0;
}

/** Threads of a service: those that are neither event loops nor of the runtime are the file pool. */
export function serviceThreads(pid: number, directory: string): Record<ThreadGroup, number> {
  const names = new Map<string, ThreadGroup>();
  for (const line of readFileSync(namesFile(directory), 'utf8').trim().split('\n')) {
    const [process = '', name = '', threads = ''] = line.split(' ');
    // The line of the main thread follows the runtime's, which contains it, too.
    if (process === String(pid))
      for (const thread of threads.split(',')) names.set(thread, name as ThreadGroup);
  }
  const micros = { main: 0, workers: 0, files: 0, runtime: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`))
    micros[names.get(thread) ?? 'files'] += ranMicros(pid, thread);
  return micros;
}
