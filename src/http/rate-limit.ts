import { FifoMap } from '../base/waiting/fifo-map.ts';
import { Problem } from '../base/errors/problem.ts';
import { type Rate, type RateCounter, type Verdict, verdictOf } from '../base/time/rates.ts';

const rateLimitClientsMax = 200_000;

interface Window {
  count: number;
  endsMs: number;
}

/**
 * Fixed windows without timers. Past `rateLimitClientsMax` clients the oldest window is forgotten, which most likely has ended.
 */
export class RateLimiter implements RateCounter {
  readonly #windows = new FifoMap<Window>();
  readonly #nowMs: () => number;
  readonly #clientsMax: number;

  constructor(nowMs: () => number, clientsMax: number = rateLimitClientsMax) {
    this.#nowMs = nowMs;
    this.#clientsMax = clientsMax;
  }

  consume(client: string, rate: Rate): Verdict {
    const now = this.#now();
    const window = this.#current(client, now) ?? this.#begin(client, now + rate.windowMs);
    window.count = Math.min(window.count + 1, rate.requests + 1);
    return verdictOf(rate, window.count, window.endsMs - now);
  }

  peek(client: string, rate: Rate): Verdict {
    const now = this.#now();
    const window = this.#current(client, now);
    if (window === undefined) return verdictOf(rate, 1, rate.windowMs);
    return verdictOf(rate, window.count + 1, window.endsMs - now);
  }

  clients(): number {
    return this.#windows.size;
  }

  /** Whole milliseconds: fractions can round a window's length up by one. */
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

export function rateHeaders({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

/** Adds the rate headers to a problem; its own limit wins. */
export function withRateHeaders(problem: Problem, state: Verdict): Problem {
  const headers = { ...rateHeaders(state), ...problem.options.headers };
  return new Problem(problem.code, problem.message, { ...problem.options, headers });
}

export function tooManyRequests(state: Verdict): Problem {
  const { limit, resetSeconds } = state;
  const detail = `The limit of ${limit} requests is exceeded; try again in ${resetSeconds} s.`;
  return new Problem('rate_limited', detail, {
    retryAfterSeconds: resetSeconds,
    headers: rateHeaders(state),
  });
}
