import { formatDurationMs, parseDurationMs } from './units.ts';

/** So many requests in every window, per client. */
export interface Rate {
  readonly requests: number;
  readonly windowMs: number;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Counts requests of clients in fixed windows. */
export interface RateCounter {
  /** Counts a request of the client. */
  consume(client: string, rate: Rate): Verdict | Promise<Verdict>;
  /** The verdict on a request that is not counted. */
  peek(client: string, rate: Rate): Verdict | Promise<Verdict>;
}

/** The verdict on the window's request number `count`, when the window has `leftMs` to go. */
export function verdictOf({ requests }: Rate, count: number, leftMs: number): Verdict {
  return {
    allowed: count <= requests,
    limit: requests,
    remaining: Math.max(0, requests - count),
    resetSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  };
}

const requestsMax = 1_000_000_000;
const windowMsMax = 86_400_000;

/** The rate of a text such as `300/15s`; undefined when it is not one (requests from 1, windows from 1ms to 1d). */
export function parseRate(text: string): Rate | undefined {
  const match = /^(\d{1,10})\/(\w{1,12})$/.exec(text);
  if (!match) return undefined;
  const requests = Number(match[1]);
  const windowMs = parseDurationMs(match[2] ?? '');
  if (windowMs === undefined || windowMs < 1 || windowMs > windowMsMax) return undefined;
  if (requests < 1 || requests > requestsMax) return undefined;
  return { requests, windowMs };
}

/** The text that `parseRate` reads. */
export function formatRate(rate: Rate): string {
  return `${rate.requests}/${formatDurationMs(rate.windowMs)}`;
}
