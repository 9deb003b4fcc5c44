/**
 * The wall clock, without what it jumps ahead: at most a moment that has come, and the time that has passed since the start.
 * What is remembered for a day must not be forgotten by a clock that somebody sets. `knownMs` is the latest moment that is
 * known to have come; undefined: none is, and the clock is believed once.
 */
export function steadyClock(
  knownMs?: number,
  wallMs: () => number = Date.now,
  passedMs: () => number = () => performance.now(),
): () => number {
  const [begin, passed] = [Math.min(wallMs(), knownMs ?? Infinity), passedMs()];
  return () => Math.min(wallMs(), begin + passedMs() - passed);
}
