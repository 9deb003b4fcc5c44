const microsPerDay = 86_400_000_000;

/** The last day of a ClickHouse `Date` (2149-06-06); such rows never expire. */
const neverExpires = 65_535;

/** Days since 1970; the whole last day of the retention is kept. */
export function expiryDay(timeMicros: number, retentionDays: number | undefined): number {
  if (retentionDays === undefined) return neverExpires;
  return Math.min(neverExpires, Math.floor(timeMicros / microsPerDay) + retentionDays + 1);
}

export function hasExpired(timeMicros: number, retentionDays: number, nowMs: number): boolean {
  return expiryDay(timeMicros, retentionDays) <= Math.floor((nowMs * 1000) / microsPerDay);
}
