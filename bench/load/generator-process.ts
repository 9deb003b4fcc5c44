import { fork } from 'node:child_process';
import type { GeneratorAnswer, Job, JobResult } from './job.ts';

/** The load generator: a separate process, so that its work counts neither for the service nor for the harness. */
export interface Generator {
  readonly pid: number;
  /** Rejects if a request got an unexpected status. */
  run(job: Job): Promise<JobResult>;
  stop(): void;
}

export function startGenerator(): Generator {
  const child = fork(new URL('./generator.js', import.meta.url), { stdio: 'inherit' });
  return {
    pid: child.pid ?? 0,
    async run(job) {
      const answered = new Promise<GeneratorAnswer>((resolve, reject) => {
        const onExit = (): void => reject(new Error('the load generator ended'));
        child.once('exit', onExit);
        child.once('message', (answer) => {
          child.off('exit', onExit);
          resolve(answer as GeneratorAnswer);
        });
      });
      child.send(job);
      const { result, error } = await answered;
      if (result === undefined) throw new Error(`the load generator failed: ${error ?? 'no result'}`);
      if (result.failures > 0) {
        throw new Error(`${result.failures} requests failed under load: ${result.failed.join(', ')}`);
      }
      return result;
    },
    stop() {
      child.disconnect();
    },
  };
}
