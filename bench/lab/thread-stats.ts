import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Processor time of the threads of a process by what they do; Linux only. */

const namesFile = (directory: string): string => join(directory, 'threads');

/** Variables with which a service says what its threads are. */
export function threadNamesEnv(directory: string): Readonly<Record<string, string>> {
  // Beside the sources, whether this runs from them or compiled.
  const preload = fileURLToPath(new URL('../../../bench/lab/thread-names.cjs', import.meta.url));
  return { NODE_OPTIONS: `--require=${preload}`, BENCH_THREADS_FILE: namesFile(directory) };
}

export type ThreadGroup = 'main' | 'workers' | 'files' | 'runtime';

/** Microseconds that a thread has run; 0 for one that has just ended. */
function ranMicros(pid: number, thread: string): number {
  const path = `/proc/${pid}/task/${thread}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[0]) / 1000 : 0;
}

/** Of a service: whatever is neither a loop of events nor the runtime's is the pool that reads and writes files. */
export function serviceThreads(pid: number, directory: string): Record<ThreadGroup, number> {
  const names = new Map<string, ThreadGroup>();
  for (const line of readFileSync(namesFile(directory), 'utf8').trim().split('\n')) {
    const [process = '', name = '', threads = ''] = line.split(' ');
    // The line of the main thread comes after that of the runtime, which has it, too.
    if (process === String(pid))
      for (const thread of threads.split(',')) names.set(thread, name as ThreadGroup);
  }
  const micros = { main: 0, workers: 0, files: 0, runtime: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`))
    micros[names.get(thread) ?? 'files'] += ranMicros(pid, thread);
  return micros;
}
