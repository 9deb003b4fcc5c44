import type { ToolDeps } from './context.ts';

/** The operator stopped a command early. The message names the results that are kept. */
export class Interrupted extends Error {
  constructor(kept: string) {
    super(`stopped: ${kept}`);
    this.name = 'Interrupted';
  }
}

export const nothingKept = 'nothing is kept; the same command starts anew';

/** Aborts on a stop signal. */
export function stopSignal({ untilStopped }: Pick<ToolDeps, 'untilStopped'>): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  return stop.signal;
}
