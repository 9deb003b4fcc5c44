/** Bounds of organizations, users and keys; units last. */
export const limits = {
  controlRefreshMs: 1_000,
  controlRefreshMsMax: 5_000,
  /** Rows that became visible this long after they were written are still seen by the next refresh. */
  controlOverlapMs: 30_000,
  /** A caller that failed to authenticate is checked once more against a state no older than this. */
  controlFreshMsMax: 100,
  /** Last uses of keys are written so often. */
  keyUsesWriteMs: 60_000,
  keyUsesWriteMsMax: 2_000,
  passwordChecksAtOnceMax: 2,
  passwordChecksWaitingMax: 64,
  passwordBytesMax: 1024,
  passwordLinkMs: 24 * 3_600_000,
  /** So many failures of an account in the window, and each further check of it waits: first the least, then doubled. */
  passwordFailuresMax: 10,
  passwordFailuresWindowMs: 15 * 60_000,
  passwordDelayMsMin: 1_000,
  passwordDelayMsMax: 60_000,
  /** Accounts of which failures are remembered, whether they exist or not. */
  passwordAccountsMax: 50_000,
  /** From where the right password came is remembered so long, where it is not only in memory. */
  passwordKnownClientsMs: 30 * 86_400_000,
  /** Checks that wait at once; the reserved ones are for clients that the account knows. */
  passwordWaitsPerAccountMax: 8,
  passwordWaitsPerAccountReserved: 2,
  passwordWaitsMax: 1_024,
  passwordWaitsReserved: 256,
  /** Control rows read at once; a table of any size is read in pages of this. */
  controlPageRowsMax: 20_000,
  /** How often a change is made again to what another process has written meanwhile, and by how much longer it waits each time. */
  controlUpdateTriesMax: 12,
  controlUpdateWaitMs: 10,
  /** Changes of one organization that wait for each other. */
  apiKeysPerOrganizationMax: 1_000,
  usersPerOrganizationMax: 20_000,
  controlChangesWaitingMax: 32,
  holdReasonCharactersMax: 1_000,
  /** How long a hold waits for a removal that is under way. */
  holdWaitMsMax: 3_600_000,
  holdWaitPollMs: 250,
  /** A plan of which the engine knows nothing for so long is not about to be carried out. */
  holdWaitQuietMs: 3_000,
  /** Events that a person is erased from at once, and bytes of a statement, which has one event however large. */
  erasureEventsAtOnce: 2_000,
  erasureBytesOfStep: 256 * 1024,
  /** A plan that has not begun by then is of a command that was killed. */
  erasurePlanMsMax: 24 * 3_600_000,
  /** A server looks for erasures that were begun. */
  erasurePollMs: 3_000,
} as const;
