const second = 1_000_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
];

/** A round time below a chart; `isDay` at midnight. */
export interface Tick {
  readonly micros: number;
  readonly isDay: boolean;
}

/**
 * At most `most` round times of a range, evenly spaced in the chosen zone: whole days, or divisors of a day.
 * Times are Unix microseconds, `to` exclusive; `startOfDay` gives the midnight of a moment (Unix
 * milliseconds), or of a later day.
 */
export function ticksOf(
  [from, to]: readonly [number, number],
  most: number,
  startOfDay: (ms: number, days: number) => number,
): Tick[] {
  const step = steps.find((one) => (to - from) / one <= most);
  const days = step === undefined ? Math.ceil((to - from) / day / most) : 1;
  const ticks: Tick[] = [];
  for (let ahead = 0; ; ahead += days) {
    const begins = startOfDay(from / 1000, ahead);
    if (begins >= to) return ticks;
    // Starts anew each midnight, so that a clock change shifts one day at most.
    const next = startOfDay(from / 1000, ahead + 1);
    for (let micros = begins; micros < Math.min(next, to); micros += step ?? next - begins)
      if (micros >= from && ticks.length < most) ticks.push({ micros, isDay: micros === begins });
  }
}
