/**
 * The wall clock without jumps ahead: never more than the latest known moment plus the time since the start, so that
 * nothing is forgotten because somebody sets the clock. `knownMs` undefined: the clock is believed once.
 */
export function steadyClock(
  knownMs?: number,
  wallMs: () => number = Date.now,
  passedMs: () => number = () => performance.now(),
): () => number {
  const [begin, passed] = [Math.min(wallMs(), knownMs ?? Infinity), passedMs()];
  return () => Math.min(wallMs(), begin + passedMs() - passed);
}
