import { availableParallelism, loadavg } from 'node:os';

/** Duration of the loop below on a quiet machine, milliseconds. */
const referenceMs = 12;
/** A slower machine is broken. */
const slownessMax = 20;

const measuredSlowness = spinMs() / referenceMs;

function spinMs(): number {
  const began = performance.now();
  let sum = 0;
  for (let i = 0; i < 10_000_000; i++) sum = (sum + i * 31) | 0;
  return performance.now() - began + (sum === 1 ? 1 : 0);
}

/**
 * `ms` on a quiet machine, scaled by this machine's speed or load. Bounds of waits use it, so that only a
 * hang reaches them; it delays nothing that happens.
 */
export function patience(ms: number): number {
  const waiting = (loadavg()[0] ?? 0) / availableParallelism();
  return Math.round(ms * Math.min(Math.max(measuredSlowness, waiting, 1) * 2, slownessMax));
}
