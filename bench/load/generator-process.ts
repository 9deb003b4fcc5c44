import { fork } from 'node:child_process';
import type { GeneratorAnswer, Job, JobResult } from './job.ts';

/** The load generator, which is a process of its own so that its work is neither the service's nor the harness's. */
export interface Generator {
  readonly pid: number;
  /** Rejects when a request of the job did not get the status it should: such a run has measured nothing. */
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
