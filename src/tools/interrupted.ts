import type { ToolDeps } from './context.ts';

/** The operator ended a command early. The message says what is kept. */
export class Interrupted extends Error {
  constructor(kept: string) {
    super(`stopped: ${kept}`);
    this.name = 'Interrupted';
  }
}

export const nothingKept = 'nothing is kept, so the same command begins anew';

/** Aborts when the process is asked to end. */
export function stopSignal({ untilStopped }: Pick<ToolDeps, 'untilStopped'>): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  return stop.signal;
}
