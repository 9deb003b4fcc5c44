import { availableParallelism, loadavg } from 'node:os';

/** What the loop below takes on a quiet machine of today, milliseconds. */
const referenceMs = 12;
/** A machine that is slower than this is broken, and a test that waits on it would wait for hours. */
const slownessMax = 20;

const measuredSlowness = spinMs() / referenceMs;

function spinMs(): number {
  const began = performance.now();
  let sum = 0;
  for (let i = 0; i < 10_000_000; i++) sum = (sum + i * 31) | 0;
  return performance.now() - began + (sum === 1 ? 1 : 0);
}

/**
 * `ms` on a quiet, quick machine, as much longer as this one is slower: by its speed when the test began, or by how
 * many processes wait for a processor now. Bounds of waits for a condition go through this, so that only what hangs
 * reaches them; nothing that is expected to happen takes longer for it.
 */
export function patience(ms: number): number {
  const waiting = (loadavg()[0] ?? 0) / availableParallelism();
  return Math.round(ms * Math.min(Math.max(measuredSlowness, waiting, 1) * 2, slownessMax));
}
