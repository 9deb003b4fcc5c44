import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors/engine-error.ts';
import { limits } from './limits.ts';

/**
 * ClickHouse error numbers of what passes: too many queries, the same one still running, out of memory, table read-only
 * (a replica without its keeper), too many parts, keeper away.
 */
const passing: ReadonlySet<number | undefined> = new Set([202, 216, 241, 242, 252, 999]);

function isPassing(error: unknown): boolean {
  if (!(error instanceof EngineError)) return false;
  return error.failure === 'unreachable' || error.failure === 'timeout' || passing.has(error.engineCode);
}

/** Does the work again, after a growing pause, for as long as an engine that is away may take to come back. */
export async function patiently<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  /** When it first failed: the work itself may take long. */
  let since: number | undefined;
  let delayMs: number = limits.restoreRetryDelayMsMin;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      since ??= performance.now();
      if (!isPassing(error) || performance.now() - since > limits.restoreRetryMsMax) throw error;
    }
    await sleep(delayMs);
    delayMs = Math.min(delayMs * 2, limits.restoreRetryDelayMsMax);
  }
}
