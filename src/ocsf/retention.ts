const microsPerDay = 86_400_000_000;

/** The last day a ClickHouse `Date` can hold (2149-06-06); such rows are kept for ever. */
const neverExpires = 65_535;

/** First day (days since 1970) on which a row may be deleted: the whole last day of its retention is kept. */
export function expiryDay(timeMicros: number, retentionDays: number | undefined): number {
  if (retentionDays === undefined) return neverExpires;
  return Math.min(neverExpires, Math.floor(timeMicros / microsPerDay) + retentionDays + 1);
}

/** True when the engine may delete the row as soon as it has it, so that nobody could ever read it. */
export function hasExpired(timeMicros: number, retentionDays: number, nowMs: number): boolean {
  return expiryDay(timeMicros, retentionDays) <= Math.floor((nowMs * 1000) / microsPerDay);
}
