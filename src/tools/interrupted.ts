import type { ToolDeps } from './context.ts';

/** The message names the results that are kept. */
export class Interrupted extends Error {
  constructor(kept: string) {
    super(`stopped: ${kept}`);
    this.name = 'Interrupted';
  }
}

export const nothingKept = 'nothing is kept; the same command starts anew';

export function stopSignal({ untilStopped }: Pick<ToolDeps, 'untilStopped'>): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  return stop.signal;
}
