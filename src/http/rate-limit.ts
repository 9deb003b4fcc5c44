import { limits } from './limits.ts';
import { FifoMap } from '../base/fifo-map.ts';
import type { Rate } from '../base/rates.ts';

/** The state of a client's window after a request (contract: Rate limits). */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  /** Counts a request of the client. */
  consume(client: string, rate: Rate): Verdict;
  /** The verdict on a request that is not counted. */
  peek(client: string, rate: Rate): Verdict;
  clients(): number;
}

interface Window {
  count: number;
  endsMs: number;
}

/**
 * Counts requests in fixed windows: a client's window begins with its first request and lets `requests` pass until
 * it ends; the next request begins a new one. No timers: a window that has ended is noticed when it is looked at.
 *
 * Memory is bounded: past `rateLimitClientsMax` clients the one whose window began first is forgotten, which is also
 * the one most likely to have ended.
 */
export function createRateLimiter(
  nowMs: () => number,
  clientsMax: number = limits.rateLimitClientsMax,
): RateLimiter {
  const windows = new FifoMap<Window>();

  /** Whole milliseconds: with fractions, the sum and difference of a window's ends can round to one more. */
  const clock = (): number => Math.floor(nowMs());

  function current(client: string, now: number): Window | undefined {
    const window = windows.get(client);
    return window !== undefined && now < window.endsMs ? window : undefined;
  }

  function begin(client: string, endsMs: number): Window {
    const window = { count: 0, endsMs };
    windows.set(client, window);
    if (windows.size > clientsMax) windows.removeOldest();
    return window;
  }

  function verdict(rate: Rate, count: number, endsMs: number, now: number): Verdict {
    return {
      allowed: count <= rate.requests,
      limit: rate.requests,
      remaining: Math.max(0, rate.requests - count),
      resetSeconds: Math.max(1, Math.ceil((endsMs - now) / 1000)),
    };
  }

  return {
    consume(client, rate) {
      const now = clock();
      const window = current(client, now) ?? begin(client, now + rate.windowMs);
      // A client far beyond its limit must not overflow; how far beyond makes no difference.
      window.count = Math.min(window.count + 1, rate.requests + 1);
      return verdict(rate, window.count, window.endsMs, now);
    },
    peek(client, rate) {
      const now = clock();
      const window = current(client, now);
      return verdict(rate, (window?.count ?? 0) + 1, window?.endsMs ?? now + rate.windowMs, now);
    },
    clients: () => windows.size,
  };
}
