/**
 * The wall clock without jumps ahead: at most the latest known moment plus the time since the start, so that
 * setting the clock expires nothing. `knownMs` undefined: trusts the clock once.
 */
export function steadyClock(
  knownMs?: number,
  wallMs: () => number = Date.now,
  passedMs: () => number = () => performance.now(),
): () => number {
  const [begin, passed] = [Math.min(wallMs(), knownMs ?? Infinity), passedMs()];
  return () => Math.min(wallMs(), begin + passedMs() - passed);
}
