/** Bounds of the demo data; units last. */
export const limits = {
  /** Events of one body. */
  bodyEvents: 2_000,
  /** Nobody in the demo begins a transfer that would take longer. */
  transferSecondsMax: 1_800,
  /** A demo of fewer events of an organization has no stories. */
  storyEventsMin: 500,
  /** What the thief downloads, and of how many events at least one is such a download. */
  stolenFilesMax: 4_000,
  eventsForStolenFile: 15,
} as const;
