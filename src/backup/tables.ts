/**
 * The tables of a backup in copy order, as each step has its own moment. Evidence and plans of erasures
 * precede the events, so no tree has an event that the backup lacks, and an erasure in progress has its plan.
 * The journal comes last, so each event has its organization.
 */
export const backupSteps = {
  evidence: [
    'evidence_progress',
    'evidence_stopped',
    'evidence_checkpoints',
    'evidence_tiles',
    'erased_events',
    'erasure_rows',
  ],
  events: ['events'],
  control: ['journal', 'api_key_uses', 'removals', 'acknowledged_losses', 'evidence_keys'],
} as const;

export type BackupStep = keyof typeof backupSteps;

export const stepNames = Object.keys(backupSteps) as readonly BackupStep[];

/**
 * Tables that are not copied, with the reason: state of processes on that engine, which each process
 * recreates.
 */
export const leftTables: Readonly<Record<string, string>> = {
  schema_migrations: 'each engine creates its own tables',
  leases: 'of processes',
  watermarks: 'of processes',
  planned_removals: 'a restored server plans anew, so that operators can see the plan',
  running_time: 'of servers on that engine',
};
