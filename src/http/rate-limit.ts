import { FifoMap } from '../base/waiting/fifo-map.ts';
import { Problem } from '../base/errors/problem.ts';
import { type Rate, type RateCounter, type Verdict, verdictOf } from '../base/time/rates.ts';

const rateLimitClientsMax = 200_000;

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
export class RateLimiter implements RateCounter {
  readonly #windows = new FifoMap<Window>();
  readonly #nowMs: () => number;
  readonly #clientsMax: number;

  constructor(nowMs: () => number, clientsMax: number = rateLimitClientsMax) {
    this.#nowMs = nowMs;
    this.#clientsMax = clientsMax;
  }

  /** Counts a request of the client. */
  consume(client: string, rate: Rate): Verdict {
    const now = this.#now();
    const window = this.#current(client, now) ?? this.#begin(client, now + rate.windowMs);
    // A client far beyond its limit must not overflow; how far beyond makes no difference.
    window.count = Math.min(window.count + 1, rate.requests + 1);
    return verdictOf(rate, window.count, window.endsMs - now);
  }

  /** The verdict on a request that is not counted. */
  peek(client: string, rate: Rate): Verdict {
    const now = this.#now();
    const window = this.#current(client, now);
    if (window === undefined) return verdictOf(rate, 1, rate.windowMs);
    return verdictOf(rate, window.count + 1, window.endsMs - now);
  }

  clients(): number {
    return this.#windows.size;
  }

  /** Whole milliseconds: with fractions, the sum and difference of a window's ends can round to one more. */
  #now(): number {
    return Math.floor(this.#nowMs());
  }

  #current(client: string, now: number): Window | undefined {
    const window = this.#windows.get(client);
    return window !== undefined && now < window.endsMs ? window : undefined;
  }

  #begin(client: string, endsMs: number): Window {
    const window = { count: 0, endsMs };
    this.#windows.set(client, window);
    if (this.#windows.size > this.#clientsMax) this.#windows.removeOldest();
    return window;
  }
}

/** Headers of every answer to a limited request, whatever its status. */
export function rateHeaders({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

/** The problem with the state of the limit in its headers; a limit that the problem itself is about counts more. */
export function withRateHeaders(problem: Problem, state: Verdict): Problem {
  const headers = { ...rateHeaders(state), ...problem.options.headers };
  return new Problem(problem.code, problem.message, { ...problem.options, headers });
}

export function tooManyRequests(state: Verdict): Problem {
  const { limit, resetSeconds } = state;
  const detail = `More than ${limit} requests in the window; try again in ${resetSeconds} s.`;
  return new Problem('rate_limited', detail, {
    retryAfterSeconds: resetSeconds,
    headers: rateHeaders(state),
  });
}
