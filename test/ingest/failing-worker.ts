import type { MapTask, SplitTask } from '../../src/ingest/task.ts';
import { sourceModule } from '../support/cli-command.ts';

const { default: runTask } = await sourceModule<typeof import('../../src/ingest/worker.ts')>('ingest/worker');

/** The real worker, but certain bodies end its thread or block it. */
export default function runOrFail(task: MapTask | SplitTask): unknown {
  const ends = task.kind === 'map' ? task.ends : [task.input.length];
  for (const [index, end] of ends.entries()) {
    const text = Buffer.from(task.input.subarray(ends[index - 1] ?? 0, end)).toString('latin1');
    if (text.includes('"crash the thread"')) process.exit(7);
    if (text.includes('"exhaust the memory"')) {
      const hoard: number[][] = [];
      for (;;) hoard.push(Array<number>(1_000_000).fill(hoard.length));
    }
    // Without using the processor.
    if (text.includes('"never come back"')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return runTask(task);
}
