import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Finding } from './finding.ts';
import { limits } from './limits.ts';

/** A time of a quiet machine, as long as this one needs for the same: but never so long that what stands still looks slow. */
export function patiently(ms: number): number {
  const waiting = (loadavg()[0] ?? 0) / availableParallelism();
  return Math.round(ms * Math.min(Math.max(waiting, 1), limits.slownessMax));
}

/** Asks until there is an answer; else the check has failed. */
export async function until<T>(
  check: string,
  detail: () => string,
  probe: () => Promise<T | undefined>,
  msMax: number = limits.readableMsMax,
): Promise<T> {
  const began = performance.now();
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 400)) {
    const found = await probe();
    if (found !== undefined) return found;
    const passedMs = performance.now() - began;
    if (passedMs > patiently(msMax))
      throw new Finding(check, `${detail()}, after ${Math.round(passedMs / 1000)} s`);
    await sleep(pauseMs);
  }
}

/** Work that must end. */
export async function ending<T>(what: string, msMax: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new Finding('everything ends', `${what} did not, within ${Math.round(patiently(msMax) / 1000)} s`),
        ),
      patiently(msMax),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
