import type { GeneratorAnswer, Job } from './job.ts';
import { runJob } from './run-job.ts';

/** The load generator's process: takes a job from its parent, runs it, answers, and ends when the parent does. */
process.on('message', (job: Job) => {
  void runJob(job)
    .then((result): GeneratorAnswer => ({ result }))
    .catch((error: unknown): GeneratorAnswer => ({ error: String(error) }))
    .then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit(0));
