export const limits = {
  /** Rows of one request, and rows kept around the visible ones. */
  pageEvents: 100,
  rowsMax: 6_000,
  aheadRows: 40,
  /** Wait for scrolling to stop before a request; the second bounds the wait. */
  settleMs: 80,
  settleMsMax: 250,
  /** Values of a list in the side bar, and values that the filter field suggests. */
  facetValues: 7,
  topValues: 100,
  suggestionsMax: 8,
  knownMax: 500,
  /** Suggested ways out of an empty view, each with its count. */
  waysCounted: 4,
  /** Members of the producer's context that are shown; the JSON has all. */
  contextValues: 100,
  /** Characters of a value shown as a button. */
  valueCharacters: 2_000,
  /** A click opens an event only after this time, so that a double click can select a word. */
  doubleClickMs: 250,
  /** Events passed quickly with the keyboard are not loaded. */
  detailSettleMs: 200,
  /** Interval of requests for evidence that is not there yet. */
  evidenceAgainMs: 10_000,
  evidenceAgainMsMin: 1_000,
  /** Events shown before and after one, few enough to keep it visible, and events added at a time. */
  aroundEvents: 5,
  aroundMoreEvents: 50,
  /** Interval of checks for new events. Counts over all events are refreshed less often. */
  livePauseMs: 5_000,
  followPauseMs: 2_000,
  followChartMs: 10_000,
  /** Maximum age of a list that follows. */
  followAgainMs: 30_000,
  /** Events of a case file, as the service takes them, and requests for one while no checkpoint covers its events. */
  caseEvents: 1_000,
  caseTries: 5,
  /** Time for the browser to begin a download from memory. */
  downloadBeginsMs: 60_000,
} as const;
