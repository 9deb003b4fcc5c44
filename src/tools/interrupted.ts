import type { ToolDeps } from './context.ts';

/** The operator ended a command early. The message says what is kept, and what the same command does next. */
export class Interrupted extends Error {
  constructor(kept: string) {
    super(`stopped: ${kept}`);
    this.name = 'Interrupted';
  }
}

/** Of work that does not resume, or has not come to a place to resume from. */
export const nothingKept = 'nothing is kept, so the same command begins anew';

/** Aborted when the process is asked to end, so the command can save its place first. */
export function stopSignal({ untilStopped }: Pick<ToolDeps, 'untilStopped'>): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  return stop.signal;
}
