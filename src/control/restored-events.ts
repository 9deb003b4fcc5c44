import { sourceEvent } from './change-events.ts';

/** The activity's code (contract: Activities). */
const backupRestored = 2113;

interface Restored {
  /** Ids of all organizations that there are. */
  readonly organizations: readonly string[];
  readonly backup: string;
  /** RFC 3339: what was acknowledged before is there. */
  readonly moment: string;
  readonly operator: string;
  /** Unix microseconds */
  readonly now: number;
}

/**
 * The source events (contract: Ingest) that tell organizations, and those who follow their feeds, what may have been lost:
 * events that were recorded after the moment of the backup and before these.
 */
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
