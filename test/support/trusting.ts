/** A time that is taken as it is: for tests that hold or move it themselves. */
export function trusting(clock: () => number) {
  return { expiryMicros: clock, latestMicros: clock, aheadMs: () => 0, holdBack: () => undefined };
}
