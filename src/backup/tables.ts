/**
 * The tables of a backup in the order in which they are copied, as each step has another moment. Evidence and plans of erasures come
 * before the events, so no tree has an event that the backup lacks, and an erasure that goes on meanwhile has its plan. The journal
 * comes behind, so each event has its organization.
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
 * Tables that stay behind, each with the reason. They hold promises of processes on that engine; each process makes them
 * anew where it works next.
 */
export const leftTables: Readonly<Record<string, string>> = {
  schema_migrations: 'each engine makes its tables itself',
  leases: 'of processes',
  watermarks: 'of processes',
  planned_removals: 'a restored server plans anew, so that somebody can see the plan',
  running_time: 'of servers on that engine',
};
