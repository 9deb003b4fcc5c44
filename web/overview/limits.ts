export const limits = {
  /** Today and the days it is compared with. */
  days: 14,
  /** The server returns at most 120 buckets; up to this range it counts by the hour. */
  histogramHours: 113,
  topValues: 100,
  listValues: 8,
  /** Actors looked up one by one if there are more than a list holds. */
  newActorChecks: 6,
} as const;
