/** Bounds of organizations, users and keys; units last. */
export const limits = {
  controlRefreshMs: 1_000,
  controlRefreshMsMax: 5_000,
  /** Rows that became visible this long after they were written are still seen by the next refresh. */
  controlOverlapMs: 30_000,
  /** A caller that failed to authenticate is checked once more against a state no older than this. */
  controlFreshMsMax: 100,
  /** Time between writes of when keys were last used. */
  keyUsesWriteMs: 60_000,
  keyUsesWriteMsMax: 2_000,
  passwordChecksAtOnceMax: 2,
  passwordChecksWaitingMax: 64,
  passwordBytesMax: 1024,
  passwordLinkMs: 24 * 3_600_000,
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
  /** Control rows read at once; a table of any size is read in pages of this. */
  controlPageRowsMax: 20_000,
  /** Ids that a statement names; the engine takes no parameter of more than 128 KiB. */
  controlIdsAtOnceMax: 1_000,
  /** Times that a row is put whose INSERT took half of `controlOverlapMs`. */
  controlPutTriesMax: 4,
  /** Times that a change is tried while other processes change the same. */
  controlUpdateTriesMax: 12,
  /** The wait before a try is random: up to this, times the number of the try. */
  controlUpdateWaitMs: 10,
  apiKeysPerOrganizationMax: 1_000,
  usersPerOrganizationMax: 20_000,
  /** Changes of one organization that wait for each other. */
  controlChangesWaitingMax: 32,
  holdReasonCharactersMax: 1_000,
  /** How long a hold waits for a removal that is under way. */
  holdWaitMsMax: 3_600_000,
  holdWaitPollMs: 250,
  /**
   * A removal that the engine has not begun after this long, or a deletion that has not ended its organization, is of a process
   * that was killed. One that lives takes milliseconds for that, and seconds by way of a disk that is busy.
   */
  holdWaitQuietMs: 30_000,
  /** Time between turns of retention: a 144th of the grace period, within these. */
  retentionMsMin: 200,
  retentionMsMax: 600_000,
  /** The longest time between two turns of retention that counts as running time: a process may have stood still. */
  runningStepMsMax: 3_600_000,
  /** How often the running time is stored, and so how much of it a restart may lose. */
  runningStoreMs: 600_000,
  /** Events that a step of an erasure replaces at once. */
  erasureEventsAtOnce: 2_000,
  /** Bytes of such a step; one event may be larger. */
  erasureBytesOfStep: 256 * 1024,
  /** An erasure that was planned this long ago and has not begun is of a command that was killed. */
  erasurePlanMsMax: 24 * 3_600_000,
  /** Time between looks of a server for erasures that were begun. */
  erasurePollMs: 3_000,
} as const;
