/** Bounds of the overview; units last. */
export const limits = {
  /** Today, and the days that it is compared with. */
  days: 14,
  /** The server answers at most 120 buckets; with fewer hours it counts by the hour. */
  histogramHours: 113,
  topValues: 100,
  listValues: 8,
  /** Where there are more actors than a list has, so many are looked up one by one. */
  newActorChecks: 6,
} as const;
