import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.ts';
import { AuditlogError, isTransient } from './error.ts';

const retryDelayMsMin = 200;
/** Also the longest delay until a client notices that the service is back. */
const retryDelayMsMax = 2_000;
const retryAfterMsMax = 600_000;

export interface RetryOptions {
  /** First and largest step of the exponential backoff; each delay is random between 0 and the step. */
  readonly delayMsMin?: number | undefined;
  readonly delayMsMax?: number | undefined;
  /** No further attempt after this time since the first; Infinity never gives up. */
  readonly giveUpAfterMs?: number | undefined;
}

export interface RetryPolicy {
  readonly delayMsMin: number;
  readonly delayMsMax: number;
  readonly giveUpAfterMs: number;
}

export interface RetryFacts {
  readonly error: AuditlogError;
  readonly attempt: number;
  readonly delayMs: number;
}

export function retryPolicy(options: RetryOptions = {}, giveUpAfterMs: number): RetryPolicy {
  const delayMsMin = options.delayMsMin ?? retryDelayMsMin;
  return {
    delayMsMin,
    delayMsMax: Math.max(delayMsMin, options.delayMsMax ?? retryDelayMsMax),
    giveUpAfterMs: options.giveUpAfterMs ?? giveUpAfterMs,
  };
}

/** Full jitter, so that clients do not retry together; added to `Retry-After`. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, retryAfterMs = 0): number {
  const step = Math.min(policy.delayMsMax, policy.delayMsMin * 2 ** Math.min(attempt, 30));
  return Math.min(retryAfterMs, retryAfterMsMax) + Math.random() * step;
}

/** Milliseconds of a `Retry-After` header: seconds, or an HTTP date. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

export const abortedError = (): AuditlogError => new AuditlogError('aborted', 'aborted by the caller');

/** Rejects with AuditlogError `aborted` when the signal fires first. */
export async function pause(ms: number, signal?: AbortSignal, keepsProcess = true): Promise<void> {
  try {
    await sleep(Math.min(ms, limits.timerMsMax), undefined, { signal, ref: keepsProcess });
  } catch {
    throw abortedError();
  }
}

export interface RetryHooks {
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((facts: RetryFacts) => void) | undefined;
  /** Default true. */
  readonly keepsProcess?: boolean;
  readonly mayPass?: (error: AuditlogError) => boolean;
  readonly isFinal?: (error: AuditlogError) => boolean;
}

export async function withRetries<T>(
  policy: RetryPolicy,
  { signal, onRetry, keepsProcess, mayPass, isFinal }: RetryHooks,
  work: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AuditlogError) || isFinal?.(error) === true) throw error;
      if (!isTransient(error) && mayPass?.(error) !== true) throw error;
      const delayMs = retryDelayMs(policy, attempt, error.retryAfterMs);
      if (performance.now() - begun + delayMs > policy.giveUpAfterMs) throw error;
      onRetry?.({ error, attempt: attempt + 1, delayMs });
      await pause(delayMs, signal, keepsProcess);
    }
  }
}
