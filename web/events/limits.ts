/** Bounds of the list of events; units last. */
export const limits = {
  /** Rows of one request, and those held around what is in sight. */
  pageEvents: 100,
  rowsMax: 6_000,
  /** Rows beyond those in sight that are asked for with them. */
  aheadRows: 40,
  /** Scrolling waits so long for its end before it asks, and never longer than the second. */
  settleMs: 80,
  settleMsMax: 250,
  /** Values of a list in the side bar, and those that the filter field knows. */
  facetValues: 7,
  topValues: 100,
  suggestionsMax: 8,
  /** Values whose names are remembered, of each kind. */
  knownMax: 500,
  /** Ways out of a view without events whose numbers are asked for. */
  waysCounted: 4,
  /** Of what a producer gave besides, in words; the JSON has all of it. */
  contextValues: 100,
  /** Of a value that is a button. */
  valueCharacters: 2_000,
  /** A click opens no event before it can be the first of two, which choose a word. */
  doubleClickMs: 250,
  /** Moving from row to row, an event that is passed by is not asked for. */
  detailSettleMs: 200,
  /** An event that no checkpoint covers yet is asked for again so often. */
  evidenceAgainMs: 10_000,
  evidenceAgainMsMin: 1_000,
  /** Events before and after one, so few that it is in sight among them, and so many more at a time. */
  aroundEvents: 5,
  aroundMoreEvents: 50,
  /** What is new is counted so often, and by a list that follows; what is counted over all of it, by then, not as often. */
  livePauseMs: 5_000,
  followPauseMs: 2_000,
  followChartMs: 10_000,
  /** A list that follows is never older. */
  followAgainMs: 30_000,
} as const;
