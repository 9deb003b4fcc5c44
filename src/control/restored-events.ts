import { sourceEvent } from './change-events.ts';

/** The activity's code (contract: Activities). */
const backupRestored = 2113;

interface Restored {
  /** Ids of all organizations. */
  readonly organizations: readonly string[];
  readonly backup: string;
  /** RFC 3339: earlier acknowledged events are there. */
  readonly moment: string;
  readonly operator: string;
  /** Unix microseconds */
  readonly now: number;
}

/** Source events (contract: Ingest): events between the backup and these may be lost. */
export function restoredEvents({ organizations, backup, moment, operator, now }: Restored): object[] {
  return organizations.map((organizationId) =>
    sourceEvent(
      {
        organizationId,
        code: backupRestored,
        level: 'WARN',
        msg: `Restored from a backup of ${moment}: what was recorded after that, and before this event, is not there`,
        actor: { name: operator, type: 'App/System' },
        result: { title: 'Restored', code: 200 },
        extra: { backup, moment },
      },
      now,
    ),
  );
}
