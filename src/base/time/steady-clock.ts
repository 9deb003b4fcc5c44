/**
 * The wall clock, without what it jumps ahead while this process runs: at most the time at the start and the time that has
 * passed since. What is remembered for a day must not be forgotten by a clock that somebody sets.
 */
export function steadyClock(
  wallMs: () => number = Date.now,
  passedMs: () => number = () => performance.now(),
): () => number {
  const [wall, passed] = [wallMs(), passedMs()];
  return () => Math.min(wallMs(), wall + passedMs() - passed);
}
