import { limits } from './limits.ts';

/**
 * How long to wait before an engine that ended is started again. The delay doubles with each end, so that one that
 * cannot run does not keep the machine busy, up to a bound that a reader can wait for; one that ran well is back at
 * once.
 */
export class RestartDelay {
  #nextMs: number = limits.engineRestartDelayMsMin;

  /** `ranMs`: for how long the engine answered before it ended; 0 for a start that failed. */
  next(ranMs: number): number {
    if (ranMs > limits.engineRestartDelayMsMax) this.#nextMs = limits.engineRestartDelayMsMin;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * 2, limits.engineRestartDelayMsMax);
    return delayMs;
  }
}
