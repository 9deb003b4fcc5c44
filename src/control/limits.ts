export const limits = {
  /** Rows visible this much later are still read. */
  controlOverlapMs: 30_000,
  /** After a failed authentication the state is renewed if older than this. */
  controlFreshMsMax: 100,
  passwordChecksAtOnceMax: 2,
  passwordChecksWaitingMax: 64,
  passwordBytesMax: 1024,
  /** After so many failures within the window each further check waits. */
  passwordFailuresMax: 10,
  passwordFailuresWindowMs: 15 * 60_000,
  /** The first wait; it doubles. */
  passwordDelayMsMin: 1_000,
  passwordDelayMsMax: 60_000,
  /** Remembered accounts, whether they exist or not. */
  passwordAccountsMax: 50_000,
  /** How long addresses of right passwords are remembered. */
  passwordKnownClientsMs: 30 * 86_400_000,
  /** Waiting checks; the reserved ones are for known clients. */
  passwordWaitsPerAccountMax: 8,
  passwordWaitsPerAccountReserved: 2,
  passwordWaitsMax: 1_024,
  passwordWaitsReserved: 256,
  /** In one statement: a parameter has at most 128 KiB. */
  controlIdsAtOnceMax: 1_000,
  holdWaitPollMs: 250,
  /** A removal that has not begun by then, or a deletion that has not ended its organization, is of a killed process. */
  holdWaitQuietMs: 30_000,
  /** A longer pause between turns does not count as running time. */
  runningStepMsMax: 3_600_000,
  erasurePollMs: 3_000,
} as const;
