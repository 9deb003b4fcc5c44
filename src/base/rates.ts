import { formatDurationMs, parseDurationMs } from './durations.ts';

/** So many requests in every window, per client. */
export interface Rate {
  readonly requests: number;
  readonly windowMs: number;
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
