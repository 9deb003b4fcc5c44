import { formatDurationMs, parseDurationMs } from './units.ts';

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

export interface RateCounter {
  consume(client: string, rate: Rate): Verdict | Promise<Verdict>;
  /** Without counting a request. */
  peek(client: string, rate: Rate): Verdict | Promise<Verdict>;
}

/** `leftMs`: of the window. */
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

/** Parses a rate such as `300/15s`; undefined if invalid (requests from 1, windows from 1ms to 1d). */
export function parseRate(text: string): Rate | undefined {
  const match = /^(\d{1,10})\/(\w{1,12})$/.exec(text);
  if (!match) return undefined;
  const requests = Number(match[1]);
  const windowMs = parseDurationMs(match[2] ?? '');
  if (windowMs === undefined || windowMs < 1 || windowMs > windowMsMax) return undefined;
  if (requests < 1 || requests > requestsMax) return undefined;
  return { requests, windowMs };
}

export const formatRate = (rate: Rate): string => `${rate.requests}/${formatDurationMs(rate.windowMs)}`;
