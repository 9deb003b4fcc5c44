/** Bounds of organizations, users and keys; units last. */
export const limits = {
  /** Rows that became visible this long after they were written are still seen by the next refresh. */
  controlOverlapMs: 30_000,
  /** A caller that failed to authenticate is checked once more against a state no older than this. */
  controlFreshMsMax: 100,
  passwordChecksAtOnceMax: 2,
  passwordChecksWaitingMax: 64,
  passwordBytesMax: 1024,
  /** After this many failures within the window each further check of the account waits. */
  passwordFailuresMax: 10,
  passwordFailuresWindowMs: 15 * 60_000,
  /** The first wait; each next one is twice as long. */
  passwordDelayMsMin: 1_000,
  passwordDelayMsMax: 60_000,
  /** Accounts of which failures are remembered, whether they exist or not. */
  passwordAccountsMax: 50_000,
  /** How long it is remembered from where the right password came, beyond a restart. */
  passwordKnownClientsMs: 30 * 86_400_000,
  /** Checks that wait at once; the reserved ones are for clients that the account knows. */
  passwordWaitsPerAccountMax: 8,
  passwordWaitsPerAccountReserved: 2,
  passwordWaitsMax: 1_024,
  passwordWaitsReserved: 256,
  /** Ids that a statement names; the engine takes no parameter of more than 128 KiB. */
  controlIdsAtOnceMax: 1_000,
  holdWaitPollMs: 250,
  /**
   * A removal that the engine has not begun after this long, or a deletion that has not ended its organization, is of a process
   * that was killed. One that lives takes milliseconds for that, and seconds by way of a disk that is busy.
   */
  holdWaitQuietMs: 30_000,
  /** The longest time between two turns of retention that counts as running time: a process may have stood still. */
  runningStepMsMax: 3_600_000,
  /** Time between looks of a server for erasures that were begun. */
  erasurePollMs: 3_000,
} as const;
